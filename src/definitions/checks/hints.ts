import type { DefinitionKind } from '../known-definitions.js'

/** What `defineTool` and `defineHook` take, whose parts were once given one after the other. */
const AS_OBJECT: Partial<Readonly<Record<DefinitionKind, string>>> = {
  tools: 'defineTool({ description, args, execute })',
  hooks: 'defineHook({ hook, id, execute })',
}

/** Says what to write instead of a definition that is given in parts by position; undefined for any other value. */
export function positionHint(kind: DefinitionKind, given: unknown): string | undefined {
  const spelling = AS_OBJECT[kind]
  const type = typeof given
  if (spelling === undefined || (type !== 'string' && type !== 'function')) return undefined
  return `expected one object, got a ${type}: write ${spelling}`
}

export function notSupportedYet(path: string): string {
  return `uses what is not supported yet: ${path}`
}

/** The rest of a sentence about a name that is not there: the one that was probably meant, or nothing. */
export function meant(name: string, known: Iterable<string>): string {
  const near = nearName(name, known)
  return near === undefined ? '' : `: did you mean '${near}'?`
}

/** The nearest of the known names, if the difference is as small as a typing error. */
function nearName(name: string, known: Iterable<string>): string | undefined {
  const most = name.length < 4 ? 1 : 2
  const ranked = [...known]
    .map((other) => ({ other, distance: distanceOf(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= most && distance < other.length)
    .toSorted((left, right) => left.distance - right.distance)
  return ranked[0]?.other
}

/** How many letters are to be written, left out or changed (Levenshtein). */
function distanceOf(left: string, right: string): number {
  const others = Array.from(right)
  let row = Array.from({ length: others.length + 1 }, (_, index) => index)
  for (const [index, letter] of Array.from(left).entries()) {
    const next = [index + 1]
    for (const [at, other] of others.entries()) {
      const changed = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** The elements that a list has more than once, each once. */
export function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
