import { z } from 'zod'
import { unknownFieldProblem } from './hints.js'

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
function innerIssues(issue: Issue): readonly Issue[] {
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

type Path = readonly PropertyKey[]

/**
 * The definition without its wrong fields, so that what the others refer to is checked all the same and every problem is
 * told at once; undefined where it cannot be looked at without them.
 */
export function withoutProblems(shape: z.ZodType, definition: unknown): unknown {
  const parsed = shape.safeParse(definition)
  if (parsed.success) return definition
  const paths = parsed.error.issues.flatMap(innerIssues).flatMap(wrongPaths)
  // From the last element of a list to the first one, so that those before keep their places.
  const rest = paths.toSorted(lastFirst).reduce<unknown>(removed, definition)
  return shape.safeParse(rest).success ? rest : undefined
}

function wrongPaths(issue: z.core.$ZodIssue): readonly Path[] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
}

function lastFirst(left: Path, right: Path): number {
  return String(right.join('.')).localeCompare(String(left.join('.')), undefined, { numeric: true })
}

function removed(value: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value
    if (rest.length === 0) return list.filter((_element, index) => index !== first)
    return list.map((element, index) => (index === first ? removed(element, rest) : element))
  }
  const fields = value as Readonly<Record<PropertyKey, unknown>>
  if (rest.length > 0) return { ...fields, [first]: removed(fields[first], rest) }
  const { [first]: _wrong, ...others } = fields
  return others
}

/** The fields that an object at this place of a shape may have; none where the shape says nothing of them. */
function knownFields(shape: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  return objectsAt(shape, path).flatMap((object) => Object.keys(object.shape))
}

function objectsAt(shape: z.core.$ZodType, path: readonly PropertyKey[]): readonly z.ZodObject[] {
  if (shape instanceof z.ZodOptional) return objectsAt(shape.unwrap(), path)
  if (shape instanceof z.ZodUnion) return shape.options.flatMap((option) => objectsAt(option, path))
  const [first, ...rest] = path
  if (first === undefined) return shape instanceof z.ZodObject ? [shape] : []
  if (shape instanceof z.ZodArray) return objectsAt(shape.element, rest)
  if (shape instanceof z.ZodRecord) return objectsAt(shape.valueType, rest)
  const field: unknown = shape instanceof z.ZodObject ? shape.shape[String(first)] : undefined
  return field instanceof z.core.$ZodType ? objectsAt(field, rest) : []
}
