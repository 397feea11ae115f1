"""What an agent is not to act upon without asking: whatever touches security, credentials or money. Pure.

One word is enough, and one too many does no harm: the agent asks once more than it has to. In English, and the
commonest words of some other languages.
"""

from __future__ import annotations

import re

_WORDS = r"""
    passw\w* passphrase\w* passcode\w* passkey\w* credential\w* secrets? tokens? api.?keys? private.?keys? ssh gpg
    pgp log-?ins? log(?:ged|ging)?.in sign(?:ed|ing)?.in authenticat\w* authoriz\w* authoris\w* 2fa mfa two.factor
    otp pins? pin.codes? security secure\w* encrypt\w* decrypt\w* firewall\w* vpn certificate\w* permission\w*
    privilege\w* sudo root.access admin\w* access.(?:rights?|control) captcha\w* antivirus malware phishing
    vulnerabilit\w* backdoor\w* confirm\w* approv\w* without.asking consent\w* identity passport\w* social.security
    ssn cards? money pay(?:s|ing|ment\w*|ed|out\w*|roll|pal)?
    paid bank\w* iban bic accounts? credit\w* debit\w* invoice\w*
    bill(?:s|ing)? transfer\w* wire[ds]? invest\w* stocks? shares? bonds? fund\w* portfolio\w* trad(?:e[ds]?|ing)
    broker\w* crypto\w* bitcoin\w* wallets? budget\w* price[ds]? pric(?:ing|ey) cost\w* cheap\w* expens\w* buy\w*
    bought purchas\w* order(?:s|ed|ing) checkout subscri\w* refund\w* salar\w* wages? income tax\w* loans?
    mortgage\w* debts? insur\w* pension\w* donat\w* financ\w* spend\w* spent tip(?:s|ping)? cash dollars? euros?
    pounds? usd eur gbp passwort\w* kennwort\w* geheim\w* geld\w* bezahl\w* zahl(?:en|ung\w*) konto\w* konten
    überweis\w* rechnung\w* kauf\w* sicherheit\w* contraseña\w* dinero pag(?:o|os|ar|ue) banco\w* cuenta\w*
    compra\w* mot.de.passe argent paie\w* banque\w* compte\w* achet\w* senha\w* dinheiro conta\w* пароль\w* деньги
    密码 密碼 钱 錢 パスワード お金 비밀번호 돈
"""
_TOUCHES = re.compile(rf"[$€£¥₿]|(?<!\w)(?:{'|'.join(_WORDS.replace('.', '[ _-]?').split())})(?!\w)", re.IGNORECASE)
# Scripts without blanks: what stands beside a word is no end of it.
_UNSPACED = re.compile("密[码碼]|[钱錢]|パスワード|お金|비밀번호|支付|付款|銀行|银行")


def touches(*texts: str) -> bool:
    """Whether something in the texts touches security, credentials or money.

    Example:
        >>> touches("The user does not want the assistant to ask before it pays."), touches("The user prefers tea.")
        (True, False)
    """
    return any(_TOUCHES.search(text) or _UNSPACED.search(text) for text in texts)
