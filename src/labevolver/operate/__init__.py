"""The Operator: from an intent to a parameterised action, by a program or by a language model."""
