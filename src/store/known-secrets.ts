/**
 * How a secret is found in a text, and which secrets a process knows of. An error's words go through `redactKnownSecrets`
 * before they are stored or shown to an operator, since providers and services quote the keys that they refuse.
 *
 * Known are the values that somebody noted (`noteSecret`: the key that a model's provider sends, secrets of a worker's
 * `env`), and those of environment variables whose names say that they hold one. Behind these stands a second net: what
 * looks like a key or stands where keys stand. A key that is none of these, or that code has changed, is not found.
 */
import { LIMITS } from '../protocol/limits.js'

/** Names such as OPENAI_API_KEY, GITHUB_TOKEN, PGPASSWORD, AWS_SECRET_ACCESS_KEY; not PWD. */
const SECRET_NAME = /(?:KEYS?|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$/i

/** A password such as `postgres` stands in ordinary words; keys are longer than this. */
const SHORTEST_BY_NAME = 12

/** A process that is given new tokens for ever forgets the oldest. */
const MOST_NOTED = 200

const noted = new Map<string, string>()

/** Whether a variable of this name holds a secret, as far as its name says. */
export function namesSecret(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** From now on `redactKnownSecrets` of this process finds the value. */
export function noteSecret(name: string, value: string): void {
  noted.delete(value)
  noted.set(value, name)
  const [oldest] = noted.keys()
  if (noted.size > MOST_NOTED && oldest !== undefined) noted.delete(oldest)
}

/** The text without the secrets that this process knows, and without what looks like one. Redacting twice changes nothing. */
export function redactKnownSecrets(text: string, environment = process.env): string {
  const known = createTextRedactor()
  for (const [name, value = ''] of Object.entries(environment))
    if (namesSecret(name) && value.trim().length >= SHORTEST_BY_NAME) known.note(name, value)
  for (const [value, name] of noted) known.note(name, value)
  return LOOKS_SECRET.reduce((left, pattern) => left.replace(pattern, '$1[secret]'), known.redact(text))
}

/** Replaces the secrets that were noted in it by `[secret NAME]`. */
export interface TextRedactor {
  readonly note: (name: string, value: string) => void
  readonly redact: (text: string) => string
  /** Nothing was noted that is long enough to be found. */
  readonly empty: boolean
}

export function createTextRedactor(): TextRedactor {
  /** What is searched, and what comes instead. */
  const forms = new Map<string, string>()
  let pattern: RegExp | undefined
  return {
    note(name, value) {
      for (const form of secretForms(value)) if (!forms.has(form)) forms.set(form, `[secret ${name}]`)
      pattern = undefined
    },
    redact(text) {
      if (forms.size === 0) return text
      pattern ??= secretPattern(forms)
      return text.replace(pattern, (found) => forms.get(found) ?? found)
    },
    get empty() {
      return forms.size === 0
    },
  }
}

/**
 * The second net. Each pattern has one group: what stays in front of a secret. None matches a mark. Most ask for a digit, since
 * providers also write "Bearer authentication is required". Each takes linear time: an error may be megabytes long.
 */
const LOOKS_SECRET: readonly RegExp[] = [
  /\b(Bearer\s{1,4})(?!\[secret)(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{12,}/gi,
  // A header, a field of JSON, a parameter of a URL, and what providers write of a key that they refuse.
  /((?:authorization|api[ _-]?key(?: provided)?|(?:access|auth|refresh)[_-]?token|client[_-]?secret|[?&](?:key|token|sig|signature))["']?\s{0,4}[:=]\s{0,4}["']?(?:Basic\s{1,4})?)(?!\[secret|Bearer\s|Basic\s)(?=[^\s"'&,;)}\]]{0,200}\d)[^\s"'&,;)}\]]{8,}/gi,
  /\b(password["']?=["']?)(?!\[secret)[^\s"'&,;)}\]]{6,}/gi,
  // The password of a URL.
  /(\w:\/\/[^\s:/@]{0,200}:)(?!\[secret)[^\s/@]{1,200}(?=@)/g,
  // Keys of OpenAI, Anthropic, OpenRouter and DeepSeek (sk-), Stripe, Groq, xAI, Hugging Face, Replicate, Perplexity, Tavily.
  /(?<![\w-])()(?:(?:sk|pk|rk)[-_]|gsk_|xai-|hf_|r8_|pplx-|tvly-)(?=[\w-]{0,200}\d)[\w-]{16,}/g,
  // Keys of Google, AWS, GitHub, GitLab, Slack; JSON web tokens.
  /(?<![\w-])()(?:AIza[\w-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,})/g,
]

/** The value as it is, without the blanks around it, and as JSON and URLs write it; none of one that is too short. */
function secretForms(value: string): readonly string[] {
  const bare = value.trim()
  if (bare.length < LIMITS.shortestRedacted) return []
  return [value, bare].flatMap((text) => {
    // `encodeURIComponent` throws for half a character.
    const inUrl = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'))
    return [text, JSON.stringify(text).slice(1, -1), inUrl]
  })
}

/** Marks that were put in before are passed over, so that a text may be redacted twice; of two secrets the longer one is found. */
function secretPattern(forms: ReadonlyMap<string, string>): RegExp {
  const values = [...forms.keys()].toSorted((one, other) => other.length - one.length)
  const texts = [...new Set(forms.values()), ...values]
  return new RegExp(texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
}
