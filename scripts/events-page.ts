/** The reference of events: the event table of `src/protocol/events.ts`, with its comments, as a page for users. */
import { readFileSync } from 'node:fs'
import { parseSync } from 'rolldown/utils'

type Statement = ReturnType<typeof parseSync>['program']['body'][number]
type Interface = Extract<Statement, { readonly type: 'TSInterfaceDeclaration' }>
type Alias = Extract<Statement, { readonly type: 'TSTypeAliasDeclaration' }>
type Node = Alias['typeAnnotation']
type Members = Interface['body']['body']

interface Field {
  readonly name: string
  readonly type: string
  readonly optional: boolean
  readonly meaning: string
}

/** The files whose types the table names. */
const FILES = [
  ...(['events', 'event-codes', 'payloads/governance', 'payloads/lifecycle'] as const),
  ...(['payloads/compaction', 'payloads/live-text', 'payloads/queue', 'payloads/sessions'] as const),
  ...(['payloads/tool-failure', 'status', 'plan', 'message'] as const),
] as const

/** What each named type of the table is; their fields are printed at the end of the page. */
const SHAPES = [
  'StopReason',
  'ThreadStatus',
  'CallOutcome',
  'Usage',
  'Side',
  'MessageRole',
  'QueuedItem',
  'ContextTokens',
  'ContextItem',
  'Routing',
  'RoutingCandidate',
  'ToolFailure',
] as const

const CODES = [
  'NextRequest',
  'RoutingKind',
  'RoutingMode',
  'RoutingReason',
  'ModelNeed',
  'RequestKind',
  'ActionDecision',
  'EffectFailureCode',
  'HookStatus',
  'HookDecision',
  'HookFailureCode',
  'HookFailureMode',
  'PolicySubject',
  'PolicyChangeKind',
  'SessionField',
  'UndeliveredEnd',
  'FileChangeKind',
  'TerminatedBy',
  'WarningCode',
] as const

const HEAD = `# Events

<!-- Made from src/protocol/events.ts by \`npm run events\`. Do not edit. -->

What \`thread.events()\` and \`GET /threads/{threadId}/events\` deliver, by \`type\`. Later versions add types, optional fields and codes:
pass over what you do not know. \`Micros\` is a number of microseconds since 1970. A client in TypeScript has all of this as the type \`ThreadEvent\`;
[a JSON Schema](events.schema.json) (\`everthread/events.schema.json\`) refuses every field and code that this version does not write.

\`fold\` makes the state of a thread of its events: agent, status, run, queue, requests, effects and subagents, as its snapshot has them. It loads
nothing of Node, so a page can keep the state of a thread with it. Events may come twice or swapped; where one is missing, \`gapAfter\` says from where to read on.

\`\`\`ts
import { fold } from 'everthread/fold'

let state = fold(eventsSoFar) // or fold(snapshot, eventsBehindIt)
state = fold(state, newEvents)
if (state.gapAfter !== null) await readAgain(\`/events?after=\${state.gapAfter}\`)
\`\`\`
`

/**
 * The whole page.
 *
 * @throws if an event, field or code of the table has no comment
 */
export function eventsPage(): string {
  const sources: readonly Source[] = FILES.map((name) =>
    createSource(name, (type) => find(sources, type).fields(type)),
  )
  const [table] = sources
  if (table === undefined) throw new Error('Expected the event table')
  const live = find(sources, 'DeltaPayload')
  const payloads = find(sources, 'JoinedPayloads')
  const joined = new Map(payloads.members('JoinedPayloads').map((member) => [member.name, member.fields()]))
  const open = new Map(table.members('OpenFields').map(({ name, type }) => [name, type]))
  const events = table.members('EventPayloads').map(({ name, comment, fields }) =>
    eventSection(name, {
      comment: comment(),
      written: fields(),
      joined: joined.get(name) ?? [],
      open: open.get(name) ?? '',
    }),
  )
  const envelope = ['WithCursor', 'FactEnvelope', 'Envelope'].flatMap((name) => table.fields(name))
  return (
    [
      HEAD,
      '## Every event',
      list([
        { name: 'type', type: 'string', optional: false, meaning: 'The name of the event.' },
        ...envelope,
      ]),
      'What the event is about, where it applies:',
      list(table.fields('EventScope')),
      ...events,
      '## `model.delta` and `reasoning.delta`',
      'Text while a model streams it. A delta is not in the log, so it has no `sequence`; `message.created` with the same `messageId` replaces it. ' +
        live.comment('DeltaPayload'),
      list(live.fields('DeltaPayload')),
      '## `tool.args`, before a call is stored',
      'Arguments of a call while the model writes them, with the `messageId` and the `toolCallId` that they have once the answer is stored. It is not in the log; ' +
        '`message.created` with the same `messageId` replaces it, and has the last word. Of all calls of one request at most 65,536 characters are told. The payload is that of a delta, ' +
        'with the offset in the arguments of the call, and: ',
      list(live.fields('ArgsPayload')),
      '## `tool.output` and `tool.progress`',
      'What a tool reports while its call runs, with the `toolCallId`. It is not in the log; `tool.result` of the call, or `action.required`, replaces it. ' +
        'The payload of `tool.output` is that of a delta. That of `tool.progress`: ' +
        live.comment('ProgressPayload'),
      list([...live.fields('ProgressPayload'), ...live.fields('ToolProgress')]),
      '## Codes',
      ...CODES.map((name) => codeSection(name, find(sources, name))),
      '## Types',
      ...SHAPES.map((name) => `\`\`\`ts\n${find(sources, name).text(name)}\n\`\`\``),
    ]
      .join('\n\n')
      .replaceAll('\n\n\n', '\n\n') + '\n'
  )
}

interface EventParts {
  readonly comment: string
  readonly written: readonly Field[]
  readonly joined: readonly Field[]
  /** The fields whose codes are an open list, as the table names them. */
  readonly open: string
}

function eventSection(name: string, { comment, written, joined, open }: EventParts): string {
  const later = new Set(joined.map((field) => field.name))
  const own = written
    .filter((field) => !later.has(field.name))
    .map((field) =>
      open.includes(`'${field.name}'`) ? { ...field, type: `${field.type}, open list` } : field,
    )
  const parts = [`## \`${name}\``, comment]
  if (own.length > 0) parts.push(list(own))
  if (joined.length > 0) parts.push('Read from the store when the event is delivered:', list(joined))
  if (own.length === 0 && joined.length === 0) parts.push('The payload is empty.')
  return parts.join('\n\n')
}

function codeSection(name: string, source: Source): string {
  const codes = source.codes(name).map(({ code, meaning }) => `- \`${code}\`: ${meaning}`)
  return [`### ${name}`, source.comment(name), codes.join('\n')].join('\n\n')
}

function list(fields: readonly Field[]): string {
  return fields
    .map(
      ({ name, type, optional, meaning }) =>
        `- \`${name}\` (${typeText(type)}${optional ? ', optional' : ''}): ${meaning}`,
    )
    .join('\n')
}

/** A type as code, with a link where the page or another one explains it. */
function typeText(type: string): string {
  const [shown = '', note] = type.split(', open list')
  const name = /^\w+/.exec(shown)?.[0] ?? ''
  const link = (CODES as readonly string[]).includes(name)
    ? `[${shown}](#${name.toLowerCase()})`
    : `\`${shown}\``
  return note === undefined ? link : `${link}, open list`
}

interface Member {
  readonly name: string
  readonly type: string
  readonly comment: () => string
  readonly fields: () => readonly Field[]
}

/** A file of types, as the page reads it. */
interface Source {
  has(name: string): boolean
  members(name: string): readonly Member[]
  fields(name: string): readonly Field[]
  codes(name: string): readonly { readonly code: string; readonly meaning: string }[]
  comment(name: string): string
  text(name: string): string
}

function find(sources: readonly Source[], name: string): Source {
  const source = sources.find((candidate) => candidate.has(name))
  if (source === undefined) throw new Error(`Expected a type ${name} in ${FILES.join(', ')}`)
  return source
}

type Parsed = ReturnType<typeof parseSync>

interface Declaration {
  readonly start: number
  readonly node: Interface | Alias
}

function declarationsOf(program: Parsed['program']): ReadonlyMap<string, Declaration> {
  const declared = new Map<string, Declaration>()
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (node?.type === 'TSInterfaceDeclaration' || node?.type === 'TSTypeAliasDeclaration')
      declared.set(node.id.name, { start: statement.start, node })
  }
  return declared
}

function findDeclaration(
  declared: ReadonlyMap<string, Declaration>,
  name: string,
  file: string,
): Declaration {
  const found = declared.get(name)
  if (found === undefined) throw new Error(`Expected a type ${name} in src/protocol/${file}.ts`)
  return found
}

function createComments(file: string, code: string, comments: Parsed['comments']) {
  /** The comment that ends right before a place, or before the sign of a union there. */
  function commentAt(start: number): { readonly text: string; readonly start: number } | null {
    const found = comments.findLast(({ end }) => end <= start)
    if (found === undefined || !/^\s*\|?\s*$/.test(code.slice(found.end, start))) return null
    const lines = found.value.split('\n').map((line) => line.replace(/^\s*\*+ ?/, '').trim())
    return { text: lines.join(' ').trim(), start: found.start }
  }

  function commentOf(what: string, start: number): string {
    const comment = commentAt(start)
    if (comment === null) throw new Error(`Expected a comment on ${what} of src/protocol/${file}.ts`)
    return comment.text
  }

  return { commentAt, commentOf }
}

function fieldOf({ name, type, optional, comment }: Member & { readonly optional: boolean }): Field {
  return { name, type, optional, meaning: comment() }
}

/** `fieldsElsewhere` has the fields of a type of another file. */
function createSource(file: string, fieldsElsewhere: (type: string) => readonly Field[]): Source {
  const url = new URL(`../src/protocol/${file}.ts`, import.meta.url)
  const code = readFileSync(url, 'utf8')
  const { program, comments } = parseSync(`${file}.ts`, code)
  const declared = declarationsOf(program)
  const { commentAt, commentOf } = createComments(file, code, comments)

  const declaration = (name: string) => findDeclaration(declared, name, file)

  function fieldsOf(node: Node): readonly Field[] {
    if (node.type === 'TSIntersectionType') return node.types.flatMap(fieldsOf)
    if (node.type === 'TSTypeLiteral') return membersOf(node.members).map(fieldOf)
    if (node.type !== 'TSTypeReference' || node.typeName.type !== 'Identifier')
      throw new Error(`Expected fields, got ${code.slice(node.start, node.end)}`)
    return node.typeName.name === 'Nothing' ? [] : fieldsNamed(node.typeName.name)
  }

  function fieldsNamed(name: string): readonly Field[] {
    if (!declared.has(name)) return fieldsElsewhere(name)
    const { node } = declaration(name)
    return node.type === 'TSInterfaceDeclaration'
      ? membersOf(node.body.body).map(fieldOf)
      : fieldsOf(node.typeAnnotation)
  }

  function membersOf(members: Members): readonly (Member & { readonly optional: boolean })[] {
    return members.map((member) => {
      if (member.type !== 'TSPropertySignature' || member.typeAnnotation === null)
        throw new Error(`Expected a field, got ${code.slice(member.start, member.end)}`)
      const { key, optional, start } = member
      const node = member.typeAnnotation.typeAnnotation
      const name = key.type === 'Literal' ? String(key.value) : code.slice(key.start, key.end)
      return {
        name,
        type: code.slice(node.start, node.end).replaceAll(/\s+/g, ' ').replaceAll('readonly ', ''),
        optional,
        comment: () => commentOf(name, start),
        fields: () => fieldsOf(node),
      }
    })
  }

  return {
    has: (name) => declared.has(name),
    members(name) {
      const { node } = declaration(name)
      return node.type === 'TSInterfaceDeclaration' ? membersOf(node.body.body) : []
    },
    fields: fieldsNamed,
    codes(name) {
      const { node } = declaration(name)
      if (node.type !== 'TSTypeAliasDeclaration' || node.typeAnnotation.type !== 'TSUnionType') return []
      return node.typeAnnotation.types.map(({ start, end }) => {
        const text = code.slice(start + 1, end - 1)
        return { code: text, meaning: commentOf(text, start) }
      })
    },
    comment: (name) => commentOf(name, declaration(name).start),
    text(name) {
      const { start, node } = declaration(name)
      return code.slice(commentAt(start)?.start ?? start, node.end)
    },
  }
}
