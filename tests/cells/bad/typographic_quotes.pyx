def greet():
    return “hello”
