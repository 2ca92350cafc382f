"""Gives each new order a receipt."""

import hashlib
import os

import psycopg2
import redis

cache = redis.Redis(host=os.environ["CACHE"], port=int(os.environ["CACHE_PORT"]))
database = psycopg2.connect(os.environ["DATABASE"])
while True:
    number = int(cache.blpop("created")[1])
    with database, database.cursor() as cursor:
        cursor.execute("SELECT item, amount FROM orders WHERE number = %s", (number,))
        receipt = hashlib.scrypt(repr(cursor.fetchone()).encode(), salt=b"orders", n=1024, r=8, p=1).hex()
        cursor.execute("UPDATE orders SET receipt = %s WHERE number = %s", (receipt, number))
    cache.delete(f"order:{number}")
