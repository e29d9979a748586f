"""Small HTTP questions to the parts: an answer, or the reason there is none. Never an exception."""

import http.client
import json
import ssl
import urllib.parse


def ask(url, method="GET", body=None, headers=None, timeout=3.0, ca=None, cert=None):
    """Returns (status, body as text); status 0 and the reason if nothing answered."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca)
        if ca is None:  # parts that make a certificate for themselves at every start
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if cert:
            context.load_cert_chain(*cert)
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
        connection.request(method, target, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error) or type(error).__name__
    finally:
        connection.close()


def ask_json(url, **options):
    status, text = ask(url, **options)
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text
