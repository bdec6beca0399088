/* The module's statements, for its loader: -1 with an exception. */
int __ufm_execute(PyObject *module)
{
    __ufm_entry entry;
    PyModuleDef *const definition = PyModule_GetDef(module);
    if (!definition) return PyErr_Occurred() ? -1 : 0;
    if (__UFM_SET_JUMP(entry.frame.jump)) {
        __ufm_came_back(&entry, "The statement of the cell that ran");
#if !CYTHON_USE_MODULE_STATE
        Py_CLEAR(__pyx_m); /* as after an exception, so that another module can be made of the library */
#endif
        return -1;
    }
    __ufm_enter(&entry);
    const int failed = PyModule_ExecDef(module, definition);
    __ufm_leave(&entry);
    return failed;
}
