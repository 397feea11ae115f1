"""Texts with and without secrets. The secrets are made up when this is read: none of them opens anything."""

import random
import string

_MIXED = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def made_up(length: int, signs: str = _MIXED, seed: int = 0) -> str:
    """Signs as random as a key's, the same on each call; digits, small and capital letters where `signs` has them."""
    chance = random.Random(f"{length} {signs} {seed}")
    kinds = [string.digits, string.ascii_lowercase, string.ascii_uppercase]
    one_of_each = [chance.choice(held) for kind in kinds if (held := [sign for sign in kind if sign in signs])]
    drawn = one_of_each + [chance.choice(signs) for _ in range(length - len(one_of_each))]
    chance.shuffle(drawn)
    return "".join(drawn)


def card(start: str, length: int = 16) -> str:
    """Digits that pass the check of payment cards, as `start` and sevens go on."""
    digits = [int(sign) for sign in start] + [7] * (length - 1 - len(start))
    doubled = [2 * digit - 9 * (digit > 4) if place % 2 == 0 else digit for place, digit in enumerate(reversed(digits))]
    return "".join(map(str, [*digits, -sum(doubled) % 10]))


def grouped(digits: str, sign: str, sizes: tuple[int, ...] = (4, 4, 4, 4)) -> str:
    """The digits in groups."""
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return sign.join(digits[start : start + size] for start, size in zip(starts, sizes, strict=True))


PEM_BODY = "\n".join(made_up(64, _MIXED + "+/", seed) for seed in range(12))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"
SEED_PHRASE = "ribbon camera fabric ocean walnut pistol velvet candle harbor monkey tunnel orbit"
JWT = f"eyJ{made_up(33)}.eyJ{made_up(60)}.{made_up(43)}"
VISA, AMEX, MASTER = card("4539"), card("3714", 15), card("5425")

# (text, the secret in it, its kind)
SECRETS = [
    (f"my key is sk-proj-{made_up(80)}", f"sk-proj-{made_up(80)}", "openai key"),
    (f"OPENAI_API_KEY=sk-{made_up(20)}T3BlbkFJ{made_up(20, seed=1)}", f"sk-{made_up(20)}T3BlbkFJ", "openai key"),
    (f'client = Anthropic(api_key="sk-ant-api03-{made_up(93)}")', f"sk-ant-api03-{made_up(93)}", "anthropic key"),
    (f"deepseek gave me sk-{made_up(32, _HEX)} for the trial", f"sk-{made_up(32, _HEX)}", "api key"),
    (f"use AKIA{made_up(16, 'ABCDEFGHIJKLMNOP234567')} for the bucket", "AKIA", "aws key"),
    (f"AWS_SECRET_ACCESS_KEY={made_up(40, _MIXED + '/+')}", made_up(40, _MIXED + "/+"), "aws key"),
    (f"AKIAQYLPMN5HIEXMPL2Z / {made_up(40, _MIXED)} in eu-west-1", made_up(40, _MIXED), "aws key"),
    (f"git clone with ghp_{made_up(36)} please", f"ghp_{made_up(36)}", "github token"),
    (f"github_pat_{made_up(22)}_{made_up(59)}", f"github_pat_{made_up(22)}", "github token"),
    (f"the runner uses glpat-{made_up(20)}.", f"glpat-{made_up(20)}", "gitlab token"),
    (f"slack: xoxb-{made_up(12, string.digits)}-{made_up(24)}", made_up(24), "slack token"),
    (f"https://hooks.slack.com/services/T{made_up(8)}/B{made_up(8)}/{made_up(24)}", made_up(24), "slack webhook"),
    (f"maps key AIza{made_up(35)} is in the app", f"AIza{made_up(35)}", "google key"),
    (f"GOCSPX-{made_up(28)}", made_up(28), "google key"),
    (f"stripe.api_key = 'sk_live_{made_up(24)}'", f"sk_live_{made_up(24)}", "stripe key"),
    (f"webhook secret whsec_{made_up(32)}", f"whsec_{made_up(32)}", "stripe key"),
    (f"login with hf_{made_up(34, string.ascii_letters)}", "hf_", "huggingface token"),
    (f"npm_{made_up(36)} publishes the package", f"npm_{made_up(36)}", "npm token"),
    (f"pypi-AgEIcHlwaS5vcmc{made_up(60)}", made_up(60), "pypi token"),
    (f"SG.{made_up(22)}.{made_up(43)}", made_up(43), "sendgrid key"),
    (f"SK{made_up(32, _HEX)} is the twilio one", made_up(32, _HEX), "twilio key"),
    (f"bot {made_up(10, '123456789')}:AA{made_up(33)}", f"AA{made_up(33)}", "telegram token"),
    (f"GROQ gsk_{made_up(52)}", f"gsk_{made_up(52)}", "groq key"),
    (f"LANGSMITH lsv2_pt_{made_up(32, _HEX)}_{made_up(10, _HEX)}", made_up(32, _HEX), "langsmith key"),
    (f"shpat_{made_up(32, _HEX)}", made_up(32, _HEX), "shopify token"),
    (f"dop_v1_{made_up(64, _HEX)}", made_up(64, _HEX), "digitalocean token"),
    (f"vault: hvs.{made_up(90)}", f"hvs.{made_up(90)}", "vault token"),
    (f"here you are:\n{PEM}\nkeep it safe", PEM_BODY, "private key"),
    (f'{{"private_key": "{PEM}"}}'.replace("\n", "\\n"), made_up(64, _MIXED + "+/", 3), "private key"),
    (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM_BODY}\nthe rest got lost", PEM_BODY, "private key"),
    (f"> {PEM}".replace("\n", "\n> "), made_up(64, _MIXED + "+/", 5), "private key"),
    (f"AGE-SECRET-KEY-1{made_up(58, string.ascii_uppercase + string.digits)}", "AGE-SECRET", "private key"),
    (f"the cookie holds {JWT} now", JWT, "jwt"),
    (f"curl -H 'Authorization: Bearer {made_up(30)}' https://api.example.org", made_up(30), "bearer token"),
    (f"Authorization: Basic {made_up(24)}", made_up(24), "bearer token"),
    (f"it wants bearer {made_up(40)}", made_up(40), "bearer token"),
    ("postgres://app:s3cr3t-Pw@db.example.org:5432/app", "s3cr3t-Pw", "password"),
    ("DATABASE_URL=mysql+pymysql://root:hunter@localhost/shop", "hunter", "password"),
    ("mongodb+srv://bob:p@ss!w0rd@cluster0.example.net/test", "p@ss!w0rd", "password"),
    ("redis://:opensesame@cache:6379/0", "opensesame", "password"),
    ("Server=tcp:db;Database=shop;User Id=sa;Password=Tr0ub4dor&3;Encrypt=yes", "Tr0ub4dor&3", "password"),
    (f"DefaultEndpointsProtocol=https;AccountKey={made_up(86, _MIXED)}==", made_up(86, _MIXED), "api key"),
    ("password: hunter2", "hunter2", "password"),
    ("user: bob\npassword: swordfish\nhost: web1", "swordfish", "password"),
    ('{"username": "bob", "password": "correct horse"}', "correct horse", "password"),
    ("DB_PASSWORD='gl1tter&gold'", "gl1tter&gold", "password"),
    ("db_pass=tulip99 in the env file", "tulip99", "password"),
    ("my password is hunter2", "hunter2", "password"),
    ("My password is swordfish.", "swordfish", "password"),
    ("The wifi password is BlueKettle42, for guests too.", "BlueKettle42", "password"),
    ("the password for the router is admin123 btw", "admin123", "password"),
    ("My Netflix password was Tr4vel!ng until yesterday", "Tr4vel!ng", "password"),
    ("I changed my password to M0nday-Blues", "M0nday-Blues", "password"),
    ("the password is 'open sesame', with a blank", "open sesame", "password"),
    ("pwd = qwerty", "qwerty", "password"),
    ("Passwort: Sommer2024!", "Sommer2024!", "password"),
    ("contraseña: perro-azul7", "perro-azul7", "password"),
    ("密码：abc12345", "abc12345", "password"),
    ("login bob password t0psecret", "t0psecret", "password"),
    ("mysql --user=bob --password=Kx93kd shop", "Kx93kd", "password"),
    ("curl -u bob:s3same https://example.org", "s3same", "password"),
    ("my PIN is 4821", "4821", "pin"),
    ("My bank card PIN is 4821, remember it", "4821", "pin"),
    ("PIN: 9034", "9034", "pin"),
    (f"api_key: {made_up(32)}", made_up(32), "api key"),
    (f'const API_KEY = "{made_up(24)}";', made_up(24), "api key"),
    (f"client_secret={made_up(32, _HEX)}", made_up(32, _HEX), "api key"),
    (f"the api key is {made_up(24)}", made_up(24), "api key"),
    (f"https://example.org/feed?access_token={made_up(40)}&page=2", made_up(40), "api key"),
    (f"SECRET_KEY = 'django-insecure-{made_up(40)}'", made_up(40), "api key"),
    (f"pay with {VISA}", VISA, "card number"),
    (f"my card is {grouped(VISA, ' ')}, exp 09/27", grouped(VISA, " "), "card number"),
    (f"card {grouped(MASTER, '-')} cvv 321", grouped(MASTER, "-"), "card number"),
    (f"amex {grouped(AMEX, ' ', (4, 6, 5))}", grouped(AMEX, " ", (4, 6, 5)), "card number"),
    (f"the card's CVV is 321, the number {MASTER}", "321", "card code"),
    (f"my seed phrase: {SEED_PHRASE}", SEED_PHRASE, "seed phrase"),
]

PLAIN = [
    "The build of commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 failed again.",
    "git show fba12b8 and then 12051f3a",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "The MD5 is d41d8cd98f00b204e9800998ecf8427e, as always for an empty file.",
    "Ticket 123e4567-e89b-12d3-a456-426614174000 is still open.",
    "trace id 7f1c9a52-4111-4111-8111-111111111111",
    "My order number is 4539777777777771, it should arrive on Monday.",
    "Order #4539 7777 7777 7771 was shipped",
    "tracking number: 9400111899223197428490",
    "Call me at +1 415 555 2671 or +49 1512 3456789.",
    "My phone is 0041 79 123 45 67 89 12",
    "IMEI 356938035643809",
    "ISBN 978-3-16-148410-0 is the one I want.",
    "Timestamp 1711234567890123 in the log",
    "account 1234567812345678 at the club",
    "Pneumonoultramicroscopicsilicovolcanoconiosis is a very long word.",
    "Donaudampfschifffahrtsgesellschaftskapitän",
    "I forgot my password again.",
    "my password is too weak",
    "The password is expired.",
    "My password is not working",
    "My password was changed yesterday.",
    "the password is wrong, I think",
    "Password: must be at least 8 characters long",
    "Forgot password? Click here.",
    "password: required",
    "I keep my passwords in a manager.",
    "What is a good password policy for a team of 20 people?",
    "The password to success is hard work.",
    "Passwords: 12 characters or more",
    "password = get_password()",
    "password = os.environ['DB_PASSWORD']",
    "def login(user: str, password: str) -> None:",
    "interface Login { user: string; password: string; }",
    "password=None, token=None",
    "password: ${DB_PASSWORD}",
    "PASSWORD={{ vault_password }}",
    "postgres://user:${PGPASSWORD}@localhost/db",
    "postgres://localhost:5432/app",
    "https://example.org:8080/@bob/posts",
    "ssh bob@web1.example.org -p 2222",
    "mail me at bob.smith@example.org: thanks",
    "The secret: eight hours of sleep.",
    "The secret is to add the salt at the end.",
    "my secret santa is Bob",
    "Token limit: 4096 tokens per request",
    "token: the smallest unit of text",
    "The access token expired, so I logged in again.",
    "bearer of good news, as they say",
    "She was the bearer of an extraordinarily complicated message.",
    "Use the Authorization header for that.",
    "The api key is in the vault.",
    "API key: see 1Password",
    "Where do I put my OpenAI key?",
    "sk-learn-style estimators are what I like, in scikit-learn 1.5",
    "risk-assessment-2024-for-the-new-building-A1",
    "The desk-mounted-monitor-arm-27-inch-Black is on sale",
    "task-2024-11-22-cleanup-of-the-garden",
    "Pin the dependency to 2.31.0",
    "The PIN of the microcontroller is 13",
    "GPIO pin 18 is 3.3 V",
    "PIN code 560001, Bangalore",
    "I passed the exam: 85 points",
    "bypass: none, compass: north, trespass: no",
    "Boarding pass: gate B12",
    "season pass = 120 euros",
    "The passphrase should be long.",
    "eyJ is how base64 of a JSON object begins.",
    "My card is a Visa that ends in 1111.",
    "Pi is 3.14159265358979323846 and so on",
    "0.4539777777777771 is the result",
    "The file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0aZq bob@laptop",
    "s3://bucket/backup-2024-11-22T10:00:00Z.tar.gz",
    "The AKIA prefix stands for a long-lived access key.",
    "The Slack token starts with xoxb- and the GitHub one with ghp_.",
    "Version 1.2.3-rc.4+build.20241122 is out",
    "npm_config_registry and hf_hub_download are names",
    "model hf_transformers_bert_base_uncased_finetuned",
    "My wifi is slow, the router is a FritzBox 7590.",
    "The recovery words are easy to lose if you do not write them down somewhere safe at home.",
    "My username is sunflower88.",
    "I live at 4111 Main Street, apartment 12, 94103 San Francisco.",
    "The locker code at the gym was not written on the card.",
    "I like tea, my sister Anna prefers coffee, and we both hate mornings.",
    "我的姐姐住在里斯本，她喜欢喝茶。",
    "🙂",
    "Error 0x80070005 at 0x00007ffde4a1b2c3",
    "Invoice 2024-000123 over 1,234.56 EUR, IBAN follows by mail",
    "192.168.178.1:8080 and fe80::1ff:fe23:4567:890a",
]
