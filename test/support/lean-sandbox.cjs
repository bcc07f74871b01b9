// Loaded first by processes that run workflow code in tests, and by their threads. Two services of the SDK's sandbox for people
// who look for a mistake take three quarters of a workflow thread's processor time: for Temporal's query `__stack_trace` it notes
// a stack trace of each promise, and for workflow code that never ends it starts a watchdog thread with each call. No test asks
// that query, and workflow code that never ends fails a test by its timeout. Workers of integration tests have both where their
// workflow code has a thread of its own.
require('node:v8').promiseHooks.createHook = () => () => undefined

const { Script } = require('node:vm')
const { runInContext } = Script.prototype
Script.prototype.runInContext = function (context, options) {
  const ofWorkflows = '__webpack_module_cache__' in context
  return runInContext.call(this, context, ofWorkflows ? { ...options, timeout: undefined } : options)
}
