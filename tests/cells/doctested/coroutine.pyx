import asyncio
async def waited(int n):
    await asyncio.sleep(0)
    return n + 1
async def agen(int n):
    for i in range(n):
        yield i
async def collect(int n):
    return [i async for i in agen(n)]
# >>> asyncio.run(waited(2)), asyncio.run(collect(3))
# (3, [0, 1, 2])
