/**
 * Finds secrets in texts. The words of an error are redacted (`redactKnownSecrets`) before they are stored or shown to an
 * operator, because providers and services quote the keys that they refuse.
 *
 * A process knows the values that were noted (`noteSecret`: the key that is sent to a model's provider, secrets of a worker's
 * `env`), and those of environment variables whose names end like that of a secret. In addition, patterns find what looks like
 * a key. Any other key, or one that code has transformed, is not found.
 */
import { createTextRedactor } from '../policy/text-redactor.js'

/** Names such as OPENAI_API_KEY, GITHUB_TOKEN, PGPASSWORD, AWS_SECRET_ACCESS_KEY; not PWD. */
const SECRET_NAME = /(?:KEYS?|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$/i

/** Shorter passwords, such as `postgres`, occur in ordinary words; keys are longer. */
const SHORTEST_BY_NAME = 12

/** The oldest noted secret is forgotten above this number. */
const MOST_NOTED = 200

const noted = new Map<string, string>()

/** Whether the name of a variable suggests a secret. */
export function namesSecret(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Adds a value to those that `redactKnownSecrets` finds in this process. */
export function noteSecret(name: string, value: string): void {
  noted.delete(value)
  noted.set(value, name)
  const [oldest] = noted.keys()
  if (noted.size > MOST_NOTED && oldest !== undefined) noted.delete(oldest)
}

/** The text without secrets that this process knows and without what looks like one. Redacting twice changes nothing. */
export function redactKnownSecrets(text: string, environment = process.env): string {
  const known = createTextRedactor()
  for (const [name, value = ''] of Object.entries(environment))
    if (namesSecret(name) && value.trim().length >= SHORTEST_BY_NAME) known.note(name, value)
  for (const [value, name] of noted) known.note(name, value)
  return LOOKS_SECRET.reduce((left, pattern) => left.replace(pattern, '$1[secret]'), known.redact(text))
}

/**
 * Patterns of what looks like a secret. Each has one group: the text before the secret, which stays. None matches a
 * replacement. Most require a digit, because providers also write "Bearer authentication is required". Each takes linear time,
 * because an error may be megabytes long.
 */
const LOOKS_SECRET: readonly RegExp[] = [
  /\b(Bearer\s{1,4})(?!\[secret)(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{12,}/gi,
  // A header, a field of JSON, a parameter of a URL, and the words of providers about a key that they refuse.
  /((?:authorization|api[ _-]?key(?: provided)?|(?:access|auth|refresh)[_-]?token|client[_-]?secret|[?&](?:key|token|sig|signature))["']?\s{0,4}[:=]\s{0,4}["']?(?:Basic\s{1,4})?)(?!\[secret|Bearer\s|Basic\s)(?=[^\s"'&,;)}\]]{0,200}\d)[^\s"'&,;)}\]]{8,}/gi,
  /\b(password["']?=["']?)(?!\[secret)[^\s"'&,;)}\]]{6,}/gi,
  // The password of a URL.
  /(\w:\/\/[^\s:/@]{0,200}:)(?!\[secret)[^\s/@]{1,200}(?=@)/g,
  // Keys of OpenAI, Anthropic, OpenRouter and DeepSeek (sk-), Stripe, Groq, xAI, Hugging Face, Replicate, Perplexity, Tavily.
  /(?<![\w-])()(?:(?:sk|pk|rk)[-_]|gsk_|xai-|hf_|r8_|pplx-|tvly-)(?=[\w-]{0,200}\d)[\w-]{16,}/g,
  // Keys of Google, AWS, GitHub, GitLab, Slack; JSON web tokens.
  /(?<![\w-])()(?:AIza[\w-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,})/g,
]
