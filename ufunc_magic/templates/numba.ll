; What templates/numba.c does for exceptions, by the names that the process has: where there is no linker there is no
; unit around the loops, and nobody to fill in pointers.
%said = type { ptr, i32, ptr, ptr, i32 }
@module = internal constant [22 x i8] c"ufunc_magic.serialize\00"
@name = internal constant [10 x i8] c"exception\00"
@one = internal constant [2 x i8] c"s\00"
@two = internal constant [3 x i8] c"sN\00"
@silent = internal constant [51 x i8] c"a function compiled by Numba failed without saying\00"
@PyExc_SystemError = external global ptr
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetObject(ptr, ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyImport_ImportModule(ptr)
declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)
declare ptr @PyObject_Type(ptr)
declare void @Py_DecRef(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_Allocate(i64 %size) {
  %made = call ptr @malloc(i64 %size)
  ret ptr %made
}
define void @NRT_Free(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}
define void @__ufm_forget(ptr %said) {
  %count.at = getelementptr %said, ptr %said, i32 0, i32 4
  %count = load i32, ptr %count.at
  %is_constant = icmp sle i32 %count, 0
  br i1 %is_constant, label %done, label %give_back
give_back:
  %arguments.at = getelementptr %said, ptr %said, i32 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  call void @free(ptr %arguments)
  call void @free(ptr %said)
  br label %done
done:
  ret void
}
define i32 @__ufm_doomed() noinline {
  %state = call i32 @PyGILState_Ensure()
  %set = call ptr @PyErr_Occurred()
  call void @PyGILState_Release(i32 %state)
  %is_set = icmp ne ptr %set, null
  %answer = zext i1 %is_set to i32
  ret i32 %answer
}
define void @__ufm_raise(i32 %status, ptr %said) noinline cold {
  %state = call i32 @PyGILState_Ensure()
  %raised = icmp sge i32 %status, 1
  br i1 %raised, label %known, label %unknown
unknown:
  %system_error = load ptr, ptr @PyExc_SystemError
  call void @PyErr_SetString(ptr %system_error, ptr @silent)
  br label %done
known:
  %text = load ptr, ptr %said
  %count.at = getelementptr %said, ptr %said, i32 0, i32 4
  %count = load i32, ptr %count.at
  %module = call ptr @PyImport_ImportModule(ptr @module)
  %absent = icmp eq ptr %module, null
  br i1 %absent, label %done, label %look
look:
  %given = icmp sgt i32 %count, 0
  br i1 %given, label %dynamic, label %constant
constant:
  %plain = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %module, ptr @name, ptr @one, ptr %text)
  br label %made
dynamic:
  %arguments.at = getelementptr %said, ptr %said, i32 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  %box.at = getelementptr %said, ptr %said, i32 0, i32 3
  %box = load ptr, ptr %box.at
  %boxed = call ptr %box(ptr %arguments)
  call void @free(ptr %said)
  %full = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %module, ptr @name, ptr @two, ptr %text, ptr %boxed)
  br label %made
made:
  %exception = phi ptr [ %plain, %constant ], [ %full, %dynamic ]
  call void @Py_DecRef(ptr %module)
  %failed = icmp eq ptr %exception, null
  br i1 %failed, label %done, label %set
set:
  %kind = call ptr @PyObject_Type(ptr %exception)
  call void @PyErr_SetObject(ptr %kind, ptr %exception)
  call void @Py_DecRef(ptr %kind)
  call void @Py_DecRef(ptr %exception)
  br label %done
done:
  call void @PyGILState_Release(i32 %state)
  ret void
}
