"""A second implementation of the procedure of docs/explanation/statistics.md, from its text, with the standard
library alone. It writes reference.json, tables of made-up runs with what the procedure says about them:

    python3 reference.py > reference.json
"""
import json, math, random

MARGIN, RATE, PRECISION = math.log(1.02), .05, .25
TOLERANCE = 1 + 1e-9


def signed_rank(n):
    """P(W+ <= w) for each w"""
    ways = [1]
    for rank in range(1, n + 1):
        more = [0] * (len(ways) + rank)
        for w, count in enumerate(ways):
            more[w] += count
            more[w + rank] += count
        ways = more
    total, below = 2 ** n, []
    for count in ways:
        below.append((below[-1] if below else 0) + count)
    return [b / total for b in below]


CDF = {n: signed_rank(n) for n in range(1, 61)}


def walsh(d):
    return sorted((d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d)))


def median(values):
    s = sorted(values)
    return (s[(len(s) - 1) // 2] + s[len(s) // 2]) / 2


def above(d, c):
    """one-sided p of "the centre is at most c" """
    n = len(d)
    p = CDF[n][sum(w <= c for w in walsh(d))]
    x = [v - c for v in d]
    if min(x) > 0:
        p = min(p, ((1 - min(x) / max(x)) / 2) ** (n - 1) / 2)
    return p


def below(d, c):
    return above([-v for v in d], -c)


def interval(d, alpha):
    n, averages = len(d), walsh(d)
    k = sum(p <= alpha / 2 * TOLERANCE for p in CDF[n])
    if k > 0:
        return averages[k - 1], averages[-k]
    beyond = (alpha ** (-1 / (n - 1)) / 2 - 1) * (max(d) - min(d))
    return min(d) - beyond, max(d) + beyond


def looks(n, kind):
    """the analyses before the last one: blocks, share"""
    if kind == "fixed":
        return []
    if kind == "budget":
        found = []
        for time, share in ((.25, .02), (.5, .10)):
            at = math.ceil(time * n)
            if at >= 6:
                found.append((at, share))
        return found
    counts, shares, spent = [6, 9, 14, 21, 32, 45], [], 0
    for c in counts:
        shares.append((c / 60) ** 1.5 - spent)
        spent = (c / 60) ** 1.5
    return [(c, s) for c, s in zip(counts, shares) if c <= n]


def holm(q, m):
    rejected = set()
    for step, i in enumerate(sorted(range(len(q)), key=lambda i: q[i])):
        if q[i] > RATE / (m - step) * TOLERANCE:
            break
        rejected.add(i)
    return rejected


def analyse(state, d, share):
    up, down = above(d, 0), below(d, 0)
    if 2 * min(up, down) / share < state["different"]:
        state["different"], state["up"] = 2 * min(up, down) / share, up < down
    state["equal"] = min(state["equal"], max(below(d, MARGIN), above(d, -MARGIN)) / share)
    state["spent"] += share


def judge(family, kind):
    """family: the differences of each environment"""
    m, n = len(family), len(family[0])
    states = [dict(different=math.inf, equal=math.inf, up=False, spent=0., left=None) for _ in family]

    def verdicts():
        return holm([s["different"] for s in states], m), holm([s["equal"] for s in states], m)

    for at, share in looks(n, kind):
        present = [i for i, s in enumerate(states) if s["left"] is None]
        for i in present:
            analyse(states[i], family[i][:at], share)
        different, equal = verdicts()
        for i in present:
            if i not in different and i not in equal:
                continue
            low, high = interval(family[i][:at], RATE * share)
            estimate = median(walsh(family[i][:at]))
            if (high - low) / 2 <= max(MARGIN, min(PRECISION * abs(estimate), math.log(1.25))):
                states[i]["left"] = (at, share)
                if i not in equal:
                    states[i]["equal"] = math.inf
    over = kind != "count" or n >= 60
    for i, s in enumerate(states):
        if s["left"] is None:
            s["left"] = (n, 1 - s["spent"])
            if over and n >= 4:
                analyse(s, family[i], s["left"][1])
    different, equal = verdicts()
    results = []
    for i, s in enumerate(states):
        at, share = s["left"]
        d = family[i][:at]
        low, high = interval(d, RATE * share)
        wide = interval(d, RATE * share / m)
        if i in equal:
            verdict = "equivalent"
        elif i in different:
            verdict = "slower" if s["up"] else "faster"
        else:
            verdict = "inconclusive"
        leaning = ""
        if verdict == "inconclusive" and (low > 0 or high < 0):
            leaning = "slower" if low > 0 else "faster"
        results.append(dict(verdict=verdict, leaning=leaning, n=at, estimate=median(walsh(d)), low=low, high=high,
                            simultaneous=wide, alpha=RATE * share))
    return results


def main():
    rng = random.Random(30)
    cases = []
    for number in range(200):
        m = (1, 3, 10)[number % 3]
        kind = ("count", "budget", "fixed")[number // 3 % 3]
        n = rng.choice((4, 5, 6, 8, 10, 12, 16, 24) if m == 10 else (4, 6, 7, 9, 12, 15, 24, 33, 60))
        sd = rng.choice((.003, .01, .03, .1))
        values = [[float(f"{10 * math.exp(sd * rng.gauss(0, 1)):.6g}") for _ in range(n)]]
        for _ in range(m):
            effect, own = rng.choice((0, 0, .01, .03, -.05, .3, -2)), rng.choice((1, 3)) * sd
            values.append([float(f"{b * math.exp(effect + own * rng.gauss(0, 1)):.6g}") for b in values[0]])
        family = [[math.log(v) - math.log(b) for v, b in zip(e, values[0])] for e in values[1:]]
        cases.append(dict(kind=kind, values=values, results=judge(family, kind)))
    print("[" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "]")


main()
