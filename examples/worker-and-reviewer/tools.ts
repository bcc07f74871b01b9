import { defineTool } from 'everthread'
import { z } from 'zod'

const attachments = z.array(z.string()).default([])

export const write_asset = defineTool({
  description: 'Write or replace the asset, an SVG image.',
  args: z.object({ svg: z.string() }),
  idempotent: true,
  async execute(state, { svg }) {
    const { path } = await state.writeFile('/attachments/asset.svg', svg, 'image/svg+xml')
    return { status: 'success', result: `The asset is at ${path}.` }
  },
})

export const fail_asset = defineTool({
  description: 'Say why the asset cannot be made. Ends the session.',
  args: z.object({ reason: z.string(), attachments }),
  execute: () => ({ status: 'success' }),
})

export const approve_asset = defineTool({
  description: 'Approve the asset. Ends the session.',
  args: z.object({ summary: z.string(), attachments }),
  execute: () => ({ status: 'success' }),
})

export const update_asset_status = defineTool({
  description: 'Tell how far the asset is.',
  args: z.object({ status: z.string() }),
  execute: (_state, { status }) => ({ status: 'success', result: `Status: ${status}` }),
})
