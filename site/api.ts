// Owns: the pages of the package's API, made of the types and docstrings of what package.json exports.
// Does not own: the docstrings.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { Application, Converter } from 'typedoc'
import type { TypeDocOptions } from 'typedoc'
import type { PluginOptions } from 'typedoc-plugin-markdown'

const ROOT = join(import.meta.dirname, '..')
const { exports: doors } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

/** The source of each door, by the name that users import. */
const sources = new Map(
  Object.entries(doors).flatMap(([door, target]) => {
    if (typeof target === 'string') return []
    const path = join(ROOT, target.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, ''))
    const source = [`${path}.ts`, `${path}.tsx`].find((file) => existsSync(file))
    if (source === undefined)
      throw new Error(`Expected the source of ${door}, got no ${path}.ts: mend package.json`)
    return [[source, `everthread${door.slice(1)}`] as const]
  }),
)

const [, , out] = process.argv
if (out === undefined) throw new Error('Expected the folder for the pages as an argument, got none')

const options: Partial<TypeDocOptions & PluginOptions> = {
  tsconfig: join(import.meta.dirname, 'tsconfig.api.json'),
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: [...sources.keys()],
  outputs: [{ name: 'markdown', path: out }],
  readme: 'none',
  excludeExternals: true,
  excludePrivate: true,
  excludeInternal: true,
  disableSources: true,
  // `npm run check` finds them, with the compiler of the package.
  skipErrorChecking: true,
  logLevel: 'Error',
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
}
const application = await Application.bootstrapWithPlugins(options)
// Named as users import it, not as its source is.
application.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  for (const module of project.children ?? []) {
    const file = project.getSymbolIdFromReflection(module)?.fileName
    const name = file === undefined ? undefined : sources.get(file)
    if (name === undefined)
      throw new Error(`Expected a door of package.json, got ${module.name}: mend site/api.ts`)
    module.name = name
  }
})

const project = await application.convert()
if (project === undefined) throw new Error('Expected types of the package, got errors, as shown: mend them')
await application.generateOutputs(project)
if (application.logger.hasErrors()) process.exitCode = 1
