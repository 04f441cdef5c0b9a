"""LabSkill, the interface of the Operator in three layers: atomic actions, digital tools, semantic templates."""
