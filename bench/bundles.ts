import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { workflowBundleOptions } from 'everthread/worker'

/** Workflow code as production workers take it: bundled before they start. */
export interface Bundle {
  readonly path: string
  /** Of its code, without the source map at its end. */
  readonly bytes: number
}

/** Our threads, and the bare loop: each alone in its bundle. */
export const BUNDLES = {
  thread: workflowBundleOptions,
  bare: { workflowsPath: new URL('step/bare-loop.ts', import.meta.url).pathname },
} as const
export type Bundles = Readonly<Record<keyof typeof BUNDLES, Bundle>>

/** Writes both into a folder. */
export async function writeBundles(folder: string): Promise<Bundles> {
  const write = async (name: keyof typeof BUNDLES): Promise<Bundle> => {
    const { code } = await bundleWorkflowCode({ ...BUNDLES[name], logger: new DefaultLogger('WARN') })
    const path = join(folder, `${name}.js`)
    await writeFile(path, code)
    const [withoutMap = ''] = code.split('\n//# sourceMappingURL=data:')
    return { path, bytes: Buffer.byteLength(withoutMap) }
  }
  return { thread: await write('thread'), bare: await write('bare') }
}
