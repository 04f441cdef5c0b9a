"""The tri-layer safety gate Γ = interface ∧ procedure ∧ physics: nothing reaches the bench without its ruling."""
