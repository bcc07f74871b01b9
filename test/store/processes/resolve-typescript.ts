import { registerHooks } from 'node:module'

// Node runs TypeScript by itself, but looks for the `.js` files that the specifiers name.
registerHooks({
  resolve(specifier, context, next) {
    const own = specifier.startsWith('.') && context.parentURL?.endsWith('.ts')
    return next(own ? specifier.replace(/\.js$/, '.ts') : specifier, context)
  },
})
