import { registerHooks } from 'node:module'

// As on a machine where nobody has installed it.
registerHooks({
  resolve(specifier, context, next) {
    return next(specifier.replace('@aws-sdk/', '@not-installed/'), context)
  },
})
