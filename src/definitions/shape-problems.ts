import { z } from 'zod'

import { unknownFieldProblem } from './field-hints.js'
import { knownFields } from './known-fields.js'

type Issue = z.core.$ZodIssue

/** What the number of a field counts, where its name does not say so. */
const UNITS: ReadonlyMap<PropertyKey | undefined, string> = new Map([
  ['timeout', 'milliseconds'],
  ['providerPatience', 'milliseconds'],
  ['inputPrice', 'US dollars per million tokens'],
  ['outputPrice', 'US dollars per million tokens'],
  ['cachedPrice', 'US dollars per million tokens'],
])

/** Says everything that is wrong with the fields of one definition; `owner` names it in each sentence. */
export function shapeProblems(shape: z.ZodType, value: unknown, owner: string): readonly string[] {
  const parsed = shape.safeParse(value, { reportInput: true })
  if (parsed.success) return []
  return parsed.error.issues.flatMap(innerIssues).flatMap((issue) => sentences(shape, issue, owner))
}

/** A union says only that nothing fits: what the author needs is why the nearest member does not. */
export function innerIssues(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const nearest = issue.errors.find((issues) => !issues.some(isWrongKind))
  if (nearest === undefined) return [issue]
  return nearest
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
    .flatMap((inner) => innerIssues(inner))
}

function isWrongKind(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

function sentences(shape: z.ZodType, issue: Issue, owner: string): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(shape, issue.path)
    return issue.keys.map((key) => {
      const path = z.core.toDotPath([...issue.path, key])
      return `${owner} ${unknownFieldProblem(path, { field: key, known })}`
    })
  }
  const path = z.core.toDotPath(issue.path)
  return [path === '' ? `${owner}: ${reasonOf(issue)}` : `${owner}: ${path}: ${reasonOf(issue)}`]
}

/** Numbers alone are shown as they came: other values may be secrets. */
function reasonOf(issue: Issue): string {
  const reason = issue.message.replace(/^Invalid (input|option): /, '')
  const expected = /\bexpected (number|int)\b/.exec(reason)?.[1]
  if (expected === undefined) return reason
  const unit = UNITS.get(issue.path.at(-1))
  const wanted = `expected ${expected === 'int' ? 'a whole number' : 'a number'}${unit === undefined ? '' : ` of ${unit}`}`
  const told = reason.replace(/\bexpected (number|int)\b/, wanted).replace(/, received \w+$/, '')
  return `${told}, got ${shown(issue.input)}`
}

function shown(input: unknown): string {
  if (typeof input === 'string') return JSON.stringify(input.slice(0, 40))
  if (typeof input === 'number' || typeof input === 'bigint') return String(input)
  return input === null ? 'null' : typeof input
}
