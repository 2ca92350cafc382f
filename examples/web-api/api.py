"""Orders: kept in PostgreSQL, cached in Redis, processed by worker.py."""

import os

import flask
import psycopg2.pool
import redis

app = flask.Flask(__name__)
cache = redis.Redis(host=os.environ["CACHE"], port=int(os.environ["CACHE_PORT"]))
database = psycopg2.pool.ThreadedConnectionPool(1, 8, os.environ["DATABASE"])


def query(text, *values):
    connection = database.getconn()
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(text, values)
            return cursor.fetchone()
    finally:
        database.putconn(connection)


@app.get("/health")
def health():
    query("SELECT 1")
    cache.ping()
    return {"status": "ok"}


@app.post("/orders")
def create():
    order = flask.request.get_json()
    number = query("INSERT INTO orders (item, amount) VALUES (%s, %s) RETURNING number", order["item"], order["amount"])[0]
    cache.rpush("created", number)
    return {"number": number}, 201


@app.get("/orders/<int:number>")
def read(number):
    key = f"order:{number}"
    text = cache.get(key)
    if text is None:
        row = query("SELECT item, amount, receipt FROM orders WHERE number = %s", number)
        if row is None:
            flask.abort(404)
        text = flask.json.dumps({"number": number, "item": row[0], "amount": row[1], "receipt": row[2]})
        cache.set(key, text, ex=60)
    return flask.Response(text, mimetype="application/json")
