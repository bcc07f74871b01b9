// Owns: the pages of the HTTP API, made of its OpenAPI document: one for each tag, and one of the objects.
// Does not own: the document (`npm run openapi`).
import type { SitePage } from './pages.ts'

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>

interface Operation {
  readonly tags?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema?: Schema
  }[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
}

export interface OpenApi {
  readonly info: { readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, { readonly description?: string }>>
  }
}

interface Route {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

const OBJECTS = 'http/objects.md'

/** The index first, then a page for each tag in the order of the document, then the objects. */
export function httpPages(document: OpenApi): readonly SitePage[] {
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  )
  const tagOf = ({ operation }: Route): string => operation.tags?.[0] ?? 'other'
  const byTag = [...new Set(routes.map(tagOf))].map(
    (tag) => [tag, routes.filter((route) => tagOf(route) === tag)] as const,
  )
  const tags = byTag.map(([tag, operations]) =>
    page(`http/${tag}.md`, `HTTP: ${tag.replaceAll('-', ' ')}`, operations.map(operationText)),
  )
  const rows = byTag.flatMap(([tag, operations]) =>
    operations.map(
      ({ path, method, operation }) =>
        `| [${method.toUpperCase()} ${code(path)}](./${tag}.md#${slugOf(`${method} ${path}`)}) | ${cell(operation.summary)} |`,
    ),
  )
  return [
    page('http/index.md', 'All routes', [
      document.info.description ?? '',
      'The [OpenAPI document](../generated/openapi.json) says the same to programs.',
      ['| Route | What it does |', '| --- | --- |', ...rows].join('\n'),
      tokensText(document),
    ]),
    ...tags,
    page(
      OBJECTS,
      'HTTP: objects',
      Object.entries(document.components.schemas).map(
        ([name, schema]) => `## ${name}\n\n${objectText(schema)}`,
      ),
    ),
  ]
}

function page(address: string, title: string, parts: readonly string[]): SitePage {
  return { address, title, markdown: `# ${title}\n\n${parts.join('\n\n')}\n` }
}

function tokensText({ components: { securitySchemes } }: OpenApi): string {
  const lines = Object.entries(securitySchemes).map(
    ([name, { description }]) =>
      `- \`${name}\`: ${description ?? 'the token of an operator or of an account'}`,
  )
  return `## Tokens\n\n\`Authorization: Bearer …\`, of the kind that a route names:\n\n${lines.join('\n')}`
}

function operationText({ path, method, operation }: Route): string {
  const kinds = (operation.security ?? []).flatMap((one) => Object.keys(one))
  const parameters = (operation.parameters ?? []).map(
    ({ name, in: place, required, schema, description }) =>
      `| \`${name}\` | ${place} | ${cell(typeText(schema ?? {}))} | ${required === true ? 'yes' : ''} | ${cell(description)} |`,
  )
  const answers = Object.entries(operation.responses).map(
    ([status, { description, content }]) =>
      `| ${status} | ${cell(contentText(content))} | ${cell(description)} |`,
  )
  const body = contentText(operation.requestBody?.content)
  return [
    `## ${method.toUpperCase()} ${code(path)}`,
    operation.summary ?? '',
    operation.description ?? '',
    kinds.length === 0 ? 'No token.' : `Token: ${kinds.map((kind) => `\`${kind}\``).join(' or ')}.`,
    parameters.length === 0
      ? ''
      : ['| Parameter | in | Type | required | |', '| --- | --- | --- | --- | --- |', ...parameters].join(
          '\n',
        ),
    body === '' ? '' : `Body: ${body}.`,
    ['| Answer | Body | |', '| --- | --- | --- |', ...answers].join('\n'),
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

const contentText = (content: Content | undefined): string =>
  Object.entries(content ?? {})
    .map(([type, { schema }]) => {
      const named = schema === undefined ? '' : typeText(schema)
      if (type === 'application/json') return named
      return named === '' ? `\`${type}\`` : `\`${type}\` of ${named}`
    })
    .join(' or ')

/** An object's fields, also those of objects inside of it; anything else is a sentence with its type. */
function objectText(schema: Schema): string {
  const rows = fieldRows(schema, '')
  const words = schema.description === undefined ? [] : [schema.description]
  if (rows.length === 0) return [...words, `Type: ${typeText(schema)}.`].join('\n\n')
  return [...words, ['| Field | Type | required | |', '| --- | --- | --- | --- |', ...rows].join('\n')].join(
    '\n\n',
  )
}

function fieldRows(schema: Schema, before: string): readonly string[] {
  const parts = schema.allOf ?? []
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${before}${name}`
    const required = schema.required?.includes(name) === true ? 'yes' : ''
    const row = `| \`${path}\` | ${cell(typeText(field))} | ${required} | ${cell(field.description)} |`
    const inside = field.items ?? field
    const mark = field.items === undefined ? '.' : '[].'
    return [row, ...(inside.$ref === undefined ? fieldRows(inside, `${path}${mark}`) : [])]
  })
  return [...parts.flatMap((part) => fieldRows(part, before)), ...fields]
}

/** The type in words, with its bounds; objects that have a name are links. */
export function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
    return `[${name}](./objects.md#${slugOf(name)})`
  }
  const either = schema.anyOf ?? schema.oneOf
  if (either !== undefined) return either.map((one) => typeText(one)).join(' or ')
  if (schema.allOf !== undefined) return schema.allOf.map((one) => typeText(one)).join(' and ')
  if (schema.enum !== undefined) return schema.enum.map((one) => code(JSON.stringify(one))).join(', ')
  const types = [schema.type ?? 'anything'].flat().map((type) => plainType(type, schema))
  return [types.join(' or '), ...boundsOf(schema)].join(', ')
}

function plainType(type: string, schema: Schema): string {
  if (type === 'array') return schema.items === undefined ? 'array' : `array of (${typeText(schema.items)})`
  const values = schema.additionalProperties
  if (type === 'object' && typeof values === 'object' && Object.keys(values).length > 0)
    return `object of (${typeText(values)})`
  return schema.format === undefined ? type : `${type} (${schema.format})`
}

function boundsOf(schema: Schema): readonly string[] {
  const bounds: readonly (readonly [string, number | undefined])[] = [
    ['from', schema.minimum],
    ['above', schema.exclusiveMinimum],
    // What JSON numbers hold is no bound that a reader needs.
    ['to', schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum],
    ['length from', schema.minLength],
    ['length to', schema.maxLength],
    ['items from', schema.minItems],
    ['items to', schema.maxItems],
  ]
  const numbers = bounds.flatMap(([word, bound]) =>
    bound === undefined || bound === -Number.MAX_SAFE_INTEGER ? [] : [`${word} ${bound}`],
  )
  return schema.pattern === undefined ? numbers : [...numbers, `as ${code(schema.pattern)}`]
}

const code = (text: string): string => `\`${text}\``

/** In a cell of a table, where a line's end and a bar would end it. */
const cell = (text: string | undefined): string => (text ?? '').replaceAll('\n', ' ').replaceAll('|', '\\|')

/** Of a heading, as GitHub makes it. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
