import { relative } from 'node:path'
import { initProject, installPackages } from '../dev/init-project.js'
import type { Command } from './terminal.js'

/** Writes a new project: an agent, a tool, a test, and what to do next. */
export const init: Command = {
  usage: '<folder> [--no-install] [--everthread SPEC]',
  summary:
    'write a new project with an agent, a tool and a test; SPEC: what npm installs as everthread, such as file:../everthread.tgz',
  arguments: ['folder'],
  flags: { 'no-install': 'boolean', everthread: 'string' },
  async run({ terminal }, { arguments: [folder = ''], flags }) {
    const { everthread } = flags
    const written = await initProject({
      folder,
      everthread: typeof everthread === 'string' ? everthread : undefined,
    })
    const { provider, hasKey } = written
    const model = hasKey
      ? `${provider.model} (${provider.key} is set)`
      : `${provider.model}, once ${provider.key} is set; until then a practice model answers`
    const place = relative(process.cwd(), written.folder)
    const enter = place === '' ? '' : `cd ${place} && `
    terminal.line(`${written.folder}: ${written.files.join(', ')}. Model: ${model}.`)
    const install = flags['no-install'] !== true
    if (install) {
      terminal.line('Installing its packages with npm …')
      await installPackages(written.folder)
    }
    terminal.line(`Next: ${enter}${install ? '' : 'npm install && '}npm run dev`)
  },
}
