import { z } from 'zod'

import { unknownFieldProblem } from './field-hints.js'

type Issue = z.core.$ZodIssue

/** Says everything that is wrong with the fields of one definition; `owner` names it in each sentence. */
export function shapeProblems(shape: z.ZodType, value: unknown, owner: string): readonly string[] {
  const parsed = shape.safeParse(value)
  if (parsed.success) return []
  return parsed.error.issues.flatMap(innerIssues).flatMap((issue) => sentences(issue, owner))
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

function sentences(issue: Issue, owner: string): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${owner} ${unknownFieldProblem(z.core.toDotPath([...issue.path, key]), key)}`,
    )
  }
  const path = z.core.toDotPath(issue.path)
  const reason = issue.message.replace(/^Invalid (input|option): /, '')
  return [path === '' ? `${owner}: ${reason}` : `${owner}: ${path}: ${reason}`]
}
