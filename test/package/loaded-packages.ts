// node loaded-packages.ts MODULE: prints the packages that our own code loads with it, and how many files of ours.
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

const PACKAGE = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//
const packages = new Set<string>()
const files = new Set<string>()

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    const name = PACKAGE.exec(resolved.url)?.[1]
    if (name === undefined && resolved.url.startsWith('file:')) files.add(resolved.url)
    if (name !== undefined && !PACKAGE.test(context.parentURL ?? '')) packages.add(name)
    return resolved
  },
})

const [, , module = ''] = process.argv
await import(pathToFileURL(module).href)
process.stdout.write(JSON.stringify({ packages: [...packages].toSorted(), files: files.size }))
