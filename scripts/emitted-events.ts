import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'rolldown/utils'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))

/** What the source emits. */
export interface Emitted {
  /** `run.*` where the end of a type is computed. */
  readonly types: ReadonlySet<string>
  readonly warnings: ReadonlySet<string>
}

/** Finds the event types in calls of `fact()`, and the codes of warnings in those and in calls of `withWarning()`. */
export function emittedEvents(): Emitted {
  const types = new Set<string>()
  const warnings = new Set<string>()
  for (const file of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === join('protocol', 'facts.ts')) continue
    const text = readFileSync(join(SOURCE, file), 'utf8')
    for (const { name, given } of callsOf(file, text)) {
      const found = name === 'fact' ? textsOf(given[0]) : []
      for (const type of found) types.add(type)
      if (name === 'withWarning') for (const code of textsOf(given[1])) warnings.add(code)
      if (found.includes('runtime.warning')) for (const code of codesOf(given[1])) warnings.add(code)
    }
  }
  // `phaseFact` is in the file of `fact` itself.
  types.add('step.phase')
  return { types, warnings }
}

type Call = Parameters<NonNullable<ConstructorParameters<typeof Visitor>[0]['CallExpression']>>[0]
type Argument = Call['arguments'][number] | undefined

interface NamedCall {
  readonly name: string
  readonly given: readonly Argument[]
}

function callsOf(file: string, text: string): readonly NamedCall[] {
  const calls: NamedCall[] = []
  new Visitor({
    CallExpression({ callee, arguments: given }) {
      if (callee.type === 'Identifier') calls.push({ name: callee.name, given })
    },
  }).visit(parseSync(file, text).program)
  return calls
}

/** The texts that an expression may be, if it says so itself. */
function textsOf(value: Argument): readonly string[] {
  if (value?.type === 'Literal') return typeof value.value === 'string' ? [value.value] : []
  if (value?.type === 'ConditionalExpression')
    return [...textsOf(value.consequent), ...textsOf(value.alternate)]
  if (value?.type === 'TemplateLiteral') return [value.quasis.map(({ value: { raw } }) => raw).join('*')]
  return []
}

function codesOf(payload: Argument): readonly string[] {
  if (payload?.type !== 'ObjectExpression') return []
  return payload.properties.flatMap((property) =>
    property.type === 'Property' && property.key.type === 'Identifier' && property.key.name === 'code'
      ? textsOf(property.value)
      : [],
  )
}
