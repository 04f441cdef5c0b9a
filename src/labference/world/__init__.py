"""The laboratory: owns the MuJoCo model and data, and is the only code that advances physics.

Nothing is imported here, so that declarations in `world.parts` load without a physics engine.
"""
