"""python3 clients.py CLIENT URL KEY posts an order with a client that may retry, and prints what the program around it learns."""

import json
import sys

import requests
import requests.adapters
import tenacity
import urllib3.util

client, url, key = sys.argv[1:]
headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
body = json.dumps({"amount": 100, "currency": "usd"})


def with_urllib3():
    retry = urllib3.util.Retry(total=3, backoff_factor=0.1, allowed_methods={"POST"}, status_forcelist=[502, 503])
    with requests.Session() as session:
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
        return session.post(url, data=body, headers=headers)


@tenacity.retry(stop=tenacity.stop_after_attempt(4), wait=tenacity.wait_exponential(multiplier=0.1), reraise=True)
def with_tenacity():
    answer = requests.post(url, data=body, headers=headers)
    if answer.status_code >= 500:
        answer.raise_for_status()
    return answer


try:
    answer = {"requests": with_urllib3, "tenacity": with_tenacity}[client]()
    print(json.dumps([{"status": answer.status_code, "body": answer.text}]))
except requests.RequestException as error:
    print(json.dumps([{"error": str(error)}]))
