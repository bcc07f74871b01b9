// A folder of CommonJS, as compilers made it for years, with a workflow for every name that nobody else has.
Object.defineProperty(exports, '__esModule', { value: true })
const { workflowInfo } = require('@temporalio/workflow')

exports.named = async () => 'named'
exports.default = async () => `any, as ${workflowInfo().workflowType}`
