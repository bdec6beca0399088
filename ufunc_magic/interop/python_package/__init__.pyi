from .saved_module import SavedModule as SavedModule, save as save
