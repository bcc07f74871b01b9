import type { DefinitionKind } from '../known-definitions.js'

/** The present form of `defineTool` and `defineHook`, which once took their parts by position. */
const AS_OBJECT: Partial<Readonly<Record<DefinitionKind, string>>> = {
  tools: 'defineTool({ description, args, execute })',
  hooks: 'defineHook({ hook, id, execute })',
}

/** The hint for a definition in the old form, by position; undefined for any other value. */
export function positionHint(kind: DefinitionKind, given: unknown): string | undefined {
  const spelling = AS_OBJECT[kind]
  const type = typeof given
  if (spelling === undefined || (type !== 'string' && type !== 'function')) return undefined
  return `expected one object, got a ${type}: write ${spelling}`
}

export function notSupportedYet(path: string): string {
  return `uses what is not supported yet: ${path}`
}

/** The end of a sentence about an unknown name: a known name that is nearly equal, or nothing. */
export function suggestName(name: string, known: Iterable<string>): string {
  const near = nearName(name, known)
  return near === undefined ? '' : `: did you mean '${near}'?`
}

/** The nearest known name, if the difference is as small as a typing error. */
function nearName(name: string, known: Iterable<string>): string | undefined {
  const most = name.length < 4 ? 1 : 2
  const ranked = [...known]
    .map((other) => ({ other, distance: distanceOf(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= most && distance < other.length)
    .toSorted((left, right) => left.distance - right.distance)
  return ranked[0]?.other
}

/** The number of letters to add, leave out or change (Levenshtein). */
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

/** Lists the names that occur more than once, each once. */
export function findRepeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
