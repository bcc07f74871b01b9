// `npm run structure`, a part of `npm run check`: holds the bounds of the source's layout and prints its numbers.
// A file is a concept with its private parts and the files of a folder are its table of contents, so an export that only
// one file of the same folder imports belongs to that file, unless a test names it. What one file of another folder imports
// is the interface of its folder: it is counted, and has no bound. Imports form no circle, not even one of types.
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

import { parseAst } from 'rolldown/parseAst'

const BOUNDS = {
  linesOfFile: 500,
  filesOfFolder: 20,
  /** Of the same folder, without a test that names them. It may only shrink. */
  exportsWithOneImporter: 49,
} as const

/** The least of oxc's syntax tree that is read here. */
interface Node {
  readonly type: string
  readonly source?: { readonly value: string } | null
  readonly importKind?: string
  readonly exportKind?: string
  readonly specifiers?: readonly Specifier[]
  readonly declaration?: Declaration | null
}

interface Specifier {
  readonly type: string
  readonly imported?: { readonly name?: string }
  readonly local: { readonly name: string }
}

interface Declaration {
  readonly id?: { readonly name: string }
  readonly declarations?: readonly { readonly id: { readonly name?: string } }[]
}

export interface SourceFile {
  readonly lines: number
  readonly exports: readonly string[]
  readonly imports: readonly Import[]
}

interface Import {
  readonly from: string
  readonly typeOnly: boolean
  /** `*` stands for all names. */
  readonly names: readonly string[]
}

export interface Structure {
  readonly files: number
  readonly lines: number
  readonly median: number
  readonly p90: number
  readonly max: number
  readonly largestFolder: { readonly name: string; readonly files: number }
  readonly foldersAboveBound: readonly string[]
  readonly filesAboveBound: readonly string[]
  readonly valueCycles: readonly (readonly string[])[]
  readonly typeCycles: readonly (readonly string[])[]
  /** Exports that no test names and one file of the same folder imports. */
  readonly exportsWithOneImporter: readonly string[]
  /** The same, imported by one file of another folder. */
  readonly exportsToOneFolder: readonly string[]
}

/** Reads one file's imports and exports; paths are relative to the repository. */
export function readSource(file: string, text: string): SourceFile {
  const body = parseAst(text, { lang: file.endsWith('.tsx') ? 'tsx' : 'ts' })
    .body as unknown as readonly Node[]
  return {
    lines: text.split('\n').length - 1,
    exports: body
      .filter(({ type }) => type === 'ExportNamedDeclaration')
      .flatMap(({ declaration }) => namesOf(declaration)),
    imports: body.flatMap((node) => {
      const from = node.source?.value
      if (from === undefined || !from.startsWith('.')) return []
      const typeOnly = (node.importKind ?? node.exportKind) === 'type'
      const names =
        node.type === 'ExportAllDeclaration' ? ['*'] : (node.specifiers ?? []).map((one) => importedName(one))
      return [{ from: resolved(file, from), typeOnly, names }]
    }),
  }
}

function namesOf(declaration: Declaration | null | undefined): readonly string[] {
  if (declaration === null || declaration === undefined) return []
  const names = declaration.declarations?.map(({ id }) => id.name) ?? [declaration.id?.name]
  return names.filter((name) => name !== undefined)
}

function importedName({ type, imported, local }: Specifier): string {
  if (type === 'ImportNamespaceSpecifier') return '*'
  return type === 'ExportSpecifier' ? local.name : (imported?.name ?? 'default')
}

function resolved(file: string, from: string): string {
  return path.posix.join(path.posix.dirname(file), from).replace(/\.js$/, '.ts')
}

/** Measures the files under `src/`; the others count as importers only. */
export function measure(files: ReadonlyMap<string, SourceFile>): Structure {
  // What a command makes has the layout of its generator.
  const isOwn = (file: string): boolean => !file.endsWith('.test.ts') && !file.includes('/generated/')
  const source = [...files.keys()].filter((file) => file.startsWith('src/') && isOwn(file))
  const lines = source.map((file) => files.get(file)?.lines ?? 0).sort((a, b) => a - b)
  const folders = countBy(source.map((file) => path.posix.dirname(file)))
  const [name, count] = [...folders].sort((a, b) => b[1] - a[1])[0] ?? ['none', 0]
  return {
    files: source.length,
    lines: lines.reduce((sum, one) => sum + one, 0),
    median: lines[Math.floor(lines.length / 2)] ?? 0,
    p90: lines[Math.floor(lines.length * 0.9)] ?? 0,
    max: lines.at(-1) ?? 0,
    largestFolder: { name, files: count },
    foldersAboveBound: [...folders]
      .filter(([, files]) => files > BOUNDS.filesOfFolder)
      .map(([folder, files]) => `${folder} has ${files} files`),
    filesAboveBound: source.filter((file) => (files.get(file)?.lines ?? 0) > BOUNDS.linesOfFile),
    valueCycles: cyclesOf(source, files, ({ typeOnly }) => !typeOnly),
    typeCycles: cyclesOf(source, files, () => true),
    ...exportsWithOneImporter(source, files),
  }
}

function countBy(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

function exportsWithOneImporter(
  source: readonly string[],
  files: ReadonlyMap<string, SourceFile>,
): Pick<Structure, 'exportsWithOneImporter' | 'exportsToOneFolder'> {
  const importers = new Map<string, Set<string>>()
  for (const [file, { imports }] of files)
    for (const { from, names } of imports)
      for (const imported of names) {
        const key = `${from} ${imported}`
        importers.set(key, (importers.get(key) ?? new Set()).add(file))
      }
  const lonely = source.flatMap((file) => {
    if (importers.has(`${file} *`)) return []
    return (files.get(file)?.exports ?? []).flatMap((exported) => {
      const [only, ...others] = importers.get(`${file} ${exported}`) ?? []
      if (only === undefined || others.length > 0 || isDoorOrTest(only)) return []
      const sameFolder = path.posix.dirname(only) === path.posix.dirname(file)
      return [{ sameFolder, line: `${file} ${exported} (${only})` }]
    })
  })
  return {
    exportsWithOneImporter: lonely.filter(({ sameFolder }) => sameFolder).map(({ line }) => line),
    exportsToOneFolder: lonely.filter(({ sameFolder }) => !sameFolder).map(({ line }) => line),
  }
}

/** Files outside of `src/` are tests, or tools that test. */
function isDoorOrTest(file: string): boolean {
  return !file.startsWith('src/') || file.endsWith('.test.ts') || file.endsWith('/index.ts')
}

/** Tarjan's strongly connected components with more than one file. */
function cyclesOf(
  source: readonly string[],
  files: ReadonlyMap<string, SourceFile>,
  counts: (one: Import) => boolean,
): readonly (readonly string[])[] {
  const known = new Set(source)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (file: string): void => {
    order.set(file, order.size)
    lowest.set(file, order.size - 1)
    stack.push(file)
    for (const one of files.get(file)?.imports ?? []) {
      if (!known.has(one.from) || !counts(one)) continue
      if (!order.has(one.from)) visit(one.from)
      if (stack.includes(one.from))
        lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(one.from) ?? 0))
    }
    if (lowest.get(file) !== order.get(file)) return
    const cycle = stack.splice(stack.indexOf(file))
    if (cycle.length > 1) cycles.push(cycle)
  }
  for (const file of source) if (!order.has(file)) visit(file)
  return cycles
}

/** The bounds that a layout breaks, a sentence each. */
export function problemsOf(structure: Structure): readonly string[] {
  const { exportsWithOneImporter: lonely, valueCycles, typeCycles } = structure
  return [
    ...structure.filesAboveBound.map(
      (file) => `${file} has more than ${BOUNDS.linesOfFile} lines: a file is one concept`,
    ),
    ...structure.foldersAboveBound.map(
      (folder) => `${folder}, expected at most ${BOUNDS.filesOfFolder}: cut it by concept`,
    ),
    ...(valueCycles.length > 0 ? valueCycles : typeCycles).map(
      (cycle) => `These files import each other in a circle: ${cycle.join(', ')}`,
    ),
    ...(lonely.length > BOUNDS.exportsWithOneImporter
      ? [
          `${lonely.length} exports have one importer in their folder and no test, expected at most ` +
            `${BOUNDS.exportsWithOneImporter}: move what is new to its importer ` +
            '(`npm run structure -- --exports` lists all)',
        ]
      : []),
  ]
}

/** The numbers of a layout, a line. */
export function describe(structure: Structure): string {
  const { files, lines, median, p90, max, largestFolder, valueCycles, typeCycles } = structure
  return (
    `${files} source files, ${lines} lines: median ${median}, p90 ${p90}, max ${max}; largest folder ` +
    `${largestFolder.name} (${largestFolder.files}); circles of values ${valueCycles.length}, of types ` +
    `${typeCycles.length}; exports with one importer in the same folder ${structure.exportsWithOneImporter.length}, ` +
    `in another ${structure.exportsToOneFolder.length}`
  )
}

/** Reads every TypeScript file of the repository that may import from `src/`. */
export function readRepository(root: string): ReadonlyMap<string, SourceFile> {
  const pattern = '{src,test,scripts,bench,chaos,simulation,examples}/**/*.{ts,tsx}'
  const exclude = (file: string): boolean => /node_modules|\.next/.test(file)
  return new Map(
    globSync(pattern, { cwd: root, exclude }).map((file) => [
      // A component is imported by the same name as any module.
      file.replace(/\.tsx$/, '.ts'),
      readSource(file, readFileSync(path.join(root, file), 'utf8')),
    ]),
  )
}

if (import.meta.main) {
  const structure = measure(readRepository(process.cwd()))
  const problems = problemsOf(structure)
  if (process.argv.includes('--exports'))
    process.stdout.write(`${structure.exportsWithOneImporter.join('\n')}\n`)
  process.stdout.write(`${describe(structure)}\n`)
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) process.exitCode = 1
}
