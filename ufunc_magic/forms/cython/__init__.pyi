from .cython_form import FormRequest as FormRequest, write as write
