import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DOCUMENT = join(ROOT, 'docs/generated/openapi.json')

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

interface Operation {
  readonly operationId: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<(typeof METHODS)[number], Operation>>>>>
}

/**
 * `src/http/generated/api-types.ts`: the types of the OpenAPI document as it is published, made by @hey-api/openapi-ts, and `Paths`, which
 * finds them by path and method. The types of refusals are left out: each of them is thrown as an `HttpError`.
 */
export async function httpTypesText(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-types-'))
  try {
    const generator = join(ROOT, 'node_modules/@hey-api/openapi-ts/dist/run.mjs')
    // The generator needs the compiler's API, which TypeScript 7 does not have.
    const older = join(ROOT, 'test/server/older-typescript.ts')
    const given = ['--silent', '-i', DOCUMENT, '-o', folder, '-p', '@hey-api/typescript']
    await promisify(execFile)(process.execPath, ['--import', older, generator, ...given], { cwd: ROOT })
    const types = await readFile(join(folder, 'types.gen.ts'), 'utf8')
    const { paths } = JSON.parse(await readFile(DOCUMENT, 'utf8')) as Document
    const left = usedTypes(types, paths)
    return `// Made by \`npm run openapi\` of docs/generated/openapi.json.\n\n${left}\n${pathsText(paths)}`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A type begins at the left edge. */
function usedTypes(types: string, paths: Document['paths']): string {
  const names = Object.values(paths).flatMap((methods) =>
    METHODS.flatMap((method) => nameOf(methods[method])),
  )
  const unused = new Set([
    'ClientOptions',
    ...names.flatMap((name) => [`${name}Errors`, `${name}Error`, `${name}Response`]),
  ])
  const [, ...blocks] = types.split(/^(?=(?:\/\*\*\n(?: \*.*\n)+)?export type )/m)
  return blocks.filter((block) => !unused.has(/^export type (\w+)/m.exec(block)?.[1] ?? '')).join('')
}

/** As the generator names what belongs to an operation. */
function nameOf(operation: Operation | undefined): readonly string[] {
  if (operation === undefined) return []
  const { operationId: id } = operation
  // Of several capitals only the first stays one, unless it begins the next word.
  const name = id.replaceAll(
    /([A-Z])([A-Z]+)(?=[A-Z][a-z]|$)/g,
    (_all, first: string, rest: string) => first + rest.toLowerCase(),
  )
  return [`${name.charAt(0).toUpperCase()}${name.slice(1)}`]
}

function pathsText(paths: Document['paths']): string {
  const lines = Object.entries(paths).flatMap(([path, operations]) => [
    `    '${path}': {`,
    ...METHODS.flatMap((method) =>
      nameOf(operations[method]).map(
        (name) =>
          `        ${method}: { input: ${name}Data; output: ${name}Responses[keyof ${name}Responses] };`,
      ),
    ),
    '    };',
  ])
  return ['/** What each route takes and answers. */', 'export interface Paths {', ...lines, '}', ''].join(
    '\n',
  )
}
