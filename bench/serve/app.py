"""The service that bench/serve/run.sh measures beside crosswise: FastAPI and uvicorn, lists by implicit.

It reads the vectors, seen rows and ids of a crosswise model, so that both answer from the same numbers.
"""
import json
import os

import numpy as np
from fastapi import FastAPI, HTTPException
from implicit.cpu.bpr import BayesianPersonalizedRanking
from scipy.sparse import csr_matrix

DTYPES = {"F32": np.float32, "I64": np.int64, "I32": np.int32, "U8": np.uint8}


def read(path):
    data = open(path, "rb").read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, about in header.items():
        if name != "__metadata__":
            a, b = about["data_offsets"]
            flat = np.frombuffer(data[8 + length + a : 8 + length + b], DTYPES[about["dtype"]])
            tensors[name] = flat.reshape(about["shape"])
    return tensors


tensors = read(os.environ["MODEL"])


def ids(kind):
    text, start = tensors[kind + ".text"].tobytes(), tensors[kind + ".start"]
    return [text[a:b].decode() for a, b in zip(start, start[1:])]


users = {name: number for number, name in enumerate(ids("users"))}
items = ids("items")
start, seen = tensors["seen.start"], tensors["seen.item"]
liked = csr_matrix((np.ones(len(seen), np.float32), seen, start), shape=(len(users), len(items)))
model = BayesianPersonalizedRanking(factors=tensors["embeddings"].shape[1])
model.user_factors = np.ascontiguousarray(tensors["embeddings"][: len(users)])
model.item_factors = np.ascontiguousarray(tensors["embeddings"][len(users) :])
app = FastAPI()


@app.get("/v1/recommend/{user}")
def recommend(user: str, n: int = 10):
    number = users.get(user)
    if number is None:
        raise HTTPException(404, "there is no such user")
    found, scores = model.recommend(number, liked[number], N=n)
    return {"user": user, "items": [{"item": items[i], "score": float(s)} for i, s in zip(found, scores)]}
