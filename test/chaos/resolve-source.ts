import { registerHooks } from 'node:module'

const SOURCE = new URL('../../src/', import.meta.url)

// Chaos imports the package by its name, which is the build: in tests it is the source.
registerHooks({
  resolve(specifier, context, next) {
    const [, door] = /^everthread(?:\/(\w+))?$/.exec(specifier) ?? [null, null]
    if (door === null) return next(specifier, context)
    const path = door === undefined ? 'index.ts' : `${door}/index.ts`
    return { url: new URL(path, SOURCE).href, shortCircuit: true }
  },
})
