class Account:
    rate = 0.5
    def __init__(self, double balance):
        self.balance = balance
    def interest(self, int years):
        return self.balance * self.rate * years
    def __repr__(self):
        return f"Account({self.balance})"
def interest(account, int years):
    return account.interest(years)
# >>> Account(2.0), interest(Account(2.0), 3)
# (Account(2.0), 3.0)
