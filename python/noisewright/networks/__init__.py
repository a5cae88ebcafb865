"""What the skins for PyTorch and JAX share: options, schedules, evaluation, linear last layers, designs, information.

Nothing here knows a network: arrays of log ratios and of features come in, numbers with errors go out.
"""
