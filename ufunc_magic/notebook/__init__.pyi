from .magics import load as load, unload as unload
