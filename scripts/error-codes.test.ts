import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')

describe('docs/errors.md names each code of the source, and no other', () => {
  test('of the HTTP server and the client', () => {
    const own = [
      ...found('src/server', /ProblemError\(\s*\d{3},\s*'(\w+)'/g),
      ...found('src/server', /problemResponse\(\s*\w+,\s*\d{3},\s*'(\w+)'/g),
      ...found('src/server', /\bcode[:=] ?'(\w+)'/g),
      ...found('src/protocol/errors.ts', /super\(\s*'(\w+)'/g),
      ...members('src/store/files/file-checks.ts', 'FileErrorCode').map((code) => `file_${code}`),
      ...members('src/client/remote-calls.ts', 'RemoteCallProblem').map((code) => `call_${code}`),
    ]
    expect(documented('Over HTTP, and of the client')).toEqual(sorted(own))
  })

  test('of the store', () => {
    expect(documented('Of the store')).toEqual(sorted(members('src/store/store-error.ts', 'StoreErrorCode')))
  })

  test('of tool results', () => {
    const assigned = /\b(?:errorCode|error_code)(?: =|:) (?:[^'\n]{0,60} [?:] )?'(\w+)'/g
    const given = /\b(?:failed|failureResult|refuse|refusal|errorResult|error)\(/g
    const codes = ['src/activities', 'src/definitions', 'src/store'].flatMap((folder) => [
      ...found(folder, assigned),
      ...argumentsOf(folder, given).flatMap((text) => matches(text, /,\s*'([a-z_]+)'/g)),
      ...found(folder, /const CODE = '(\w+)'/g),
      ...found(folder, /\boutcomeResult\('(\w+)'/g),
    ])
    expect(documented('Of tool results')).toEqual(sorted(codes))
  })

  test('of warnings', () => {
    expect(documented('Warnings')).toEqual(sorted(members('src/protocol/event-codes.ts', 'WarningCode')))
  })

  test('of runs that end', () => {
    expect(documented('Why a run ends')).toEqual(sorted(members('src/protocol/status.ts', 'StopReason')))
  })
})

/** The codes that begin the lines of the lists of a section. */
function documented(section: string): readonly string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const rows = text.split('\n## ', 1)[0]?.split('\n') ?? []
  return sorted(rows.flatMap((row) => matches(/^- ((?:`\w+`(?:, )?)+)/.exec(row)?.[1] ?? '', /`(\w+)`/g)))
}

function sorted(codes: readonly string[]): readonly string[] {
  return [...new Set(codes)].toSorted()
}

function found(path: string, pattern: RegExp): readonly string[] {
  return sources(path).flatMap((text) => matches(text, pattern))
}

/** The members of a union of texts. */
function members(path: string, name: string): readonly string[] {
  const [text = ''] = sources(path)
  const [, union = ''] = new RegExp(`export type ${name} =([\\s\\S]*?)\\n(?:\\n|$)`).exec(text) ?? []
  return matches(union, /'(\w+)'/g)
}

/** What stands between the parentheses of each call, which texts and calls in it do not end. */
function argumentsOf(path: string, call: RegExp): readonly string[] {
  return sources(path).flatMap((text) =>
    [...text.matchAll(call)].map(({ index, 0: name }) =>
      text.slice(index + name.length, endOf(text, index + name.length)),
    ),
  )
}

function endOf(text: string, start: number): number {
  let depth = 1
  let quote: string | undefined
  for (let index = start; index < text.length; index += 1) {
    const sign = text[index] ?? ''
    if (sign === '\\') index += 1
    else if (quote !== undefined) quote = sign === quote ? undefined : quote
    else if (`'"\``.includes(sign)) quote = sign
    else if ('([{'.includes(sign)) depth += 1
    else if (')]}'.includes(sign)) depth -= 1
    if (depth === 0) return index
  }
  return text.length
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, code = '']) => code)
}

/** The text of a file, or of each source below a folder. */
function sources(path: string): readonly string[] {
  const place = join(root, path)
  if (path.endsWith('.ts')) return [readFileSync(place, 'utf8')]
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(place, file), 'utf8'))
}
