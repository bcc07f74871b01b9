#!/usr/bin/env node
import { runCommand } from './run-command.js'
import { openTerminal } from './terminal.js'

const { stdin: input, stdout: output, stderr: problems } = process
// The reader of the output, a pager or `head`, has closed it: that is no error.
output.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
const terminal = openTerminal({ input, output, problems })
process.exitCode = await runCommand(process.argv.slice(2), terminal)
terminal.close()
