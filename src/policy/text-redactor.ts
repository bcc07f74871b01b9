/**
 * Replaces secrets in texts by their names.
 * Owns: in which forms a value is found. Does not own: which values are secrets.
 */

/** Secrets with fewer characters are not redacted in texts: they are parts of ordinary words. */
const SHORTEST_REDACTED = 6

/** Replaces the secrets that were noted in it by `[secret NAME]`. */
export interface TextRedactor {
  readonly note: (name: string, value: string) => void
  readonly redact: (text: string) => string
  /** Splits a text that goes on: into what can be redacted now, and an end that may be the beginning of a secret. */
  readonly split: (text: string) => readonly [string, string]
  /** Whether no value was noted that is long enough to be found. */
  readonly empty: boolean
}

export function createTextRedactor(): TextRedactor {
  /** Each form of a secret, with its replacement. */
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
    split(text) {
      if (forms.size === 0) return [text, '']
      pattern ??= secretPattern(forms)
      const longest = Math.max(...[...forms.keys()].map((form) => form.length))
      let end = Math.max(0, text.length - longest + 1)
      for (const { 0: found, index } of text.matchAll(pattern))
        if (index < end) end = Math.max(end, index + found.length)
      return [text.slice(0, end), text.slice(end)]
    },
    get empty() {
      return forms.size === 0
    },
  }
}

/** The value itself, without surrounding blanks, and as escaped in JSON and URLs; none for a value that is too short. */
function secretForms(value: string): readonly string[] {
  const bare = value.trim()
  if (bare.length < SHORTEST_REDACTED) return []
  return [value, bare].flatMap((text) => {
    // `encodeURIComponent` throws for half a character.
    const inUrl = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'))
    return [text, JSON.stringify(text).slice(1, -1), inUrl]
  })
}

/** Matches replacements first and skips them, so that a text may be redacted twice. Of two secrets the longer one is found. */
function secretPattern(forms: ReadonlyMap<string, string>): RegExp {
  const values = [...forms.keys()].toSorted((one, other) => other.length - one.length)
  const texts = [...new Set(forms.values()), ...values]
  return new RegExp(texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
}
