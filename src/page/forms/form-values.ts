/**
 * A form from a JSON Schema: which fields it has, and the value that a person's texts make. What a schema says beyond plain
 * fields is written as JSON; the server checks all of it.
 */
export interface FormField {
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'
  readonly choices: readonly unknown[]
  readonly isRequired: boolean
}

type Schema = Readonly<Record<string, unknown>>

/** The fields of an object's schema; null: it has no such form, and is written as JSON. */
export function fieldsOf(schema: unknown): readonly FormField[] | null {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return null
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(schema['properties']).map(([name, property]) => {
    const { title, description, enum: choices } = isRecord(property) ? property : {}
    return {
      name,
      title: typeof title === 'string' ? title : name,
      description: typeof description === 'string' ? description : null,
      kind: kindOf(isRecord(property) ? property : {}),
      choices: Array.isArray(choices) ? choices : [],
      isRequired: required.includes(name),
    }
  })
}

function kindOf({ type, enum: choices }: Schema): FormField['kind'] {
  if (Array.isArray(choices)) return 'choice'
  if (type === 'string') return 'text'
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json'
}

/** The texts with which a form begins, by field; a field without a value has none. */
export function textsOf(fields: readonly FormField[], value: unknown): Readonly<Record<string, string>> {
  const given = isRecord(value) ? value : {}
  return Object.fromEntries(
    fields.flatMap(({ name, kind }) => {
      const one = given[name]
      if (one === undefined) return kind === 'boolean' ? [[name, 'false']] : []
      return [[name, kind === 'text' && typeof one === 'string' ? one : JSON.stringify(one)]]
    }),
  )
}

/** The value of a filled form. @throws Error with a sentence for a text that is none of its field */
export function valueOf(
  fields: readonly FormField[],
  texts: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = texts[field.name]
      const isMissing = text === undefined || (text === '' && (field.kind !== 'text' || !field.isRequired))
      return isMissing ? [] : [[field.name, fieldValue(field, text)]]
    }),
  )
}

function fieldValue({ title, kind }: FormField, text: string): unknown {
  if (kind === 'text') return text
  if (kind === 'number' || kind === 'integer') {
    const number = Number(text)
    if (Number.isFinite(number) && (kind === 'number' || Number.isInteger(number))) return number
    throw new Error(
      `Expected "${title}" to be ${kind === 'integer' ? 'a whole' : 'a'} number, got "${text}".`,
    )
  }
  return parseJson(text, `"${title}"`)
}

/** @throws Error with a sentence that names `what` */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`Expected ${what} to be JSON, got something else.`)
  }
}

function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
