import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * The client generator needs the compiler's API, which TypeScript 7 does not have: it gets the older TypeScript that
 * `attw` brings with it.
 */
const attw = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json')
const older = createRequire(createRequire(attw).resolve('@arethetypeswrong/core')).resolve('typescript')

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'typescript' ? pathToFileURL(older).href : specifier, context),
})
