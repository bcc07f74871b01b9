import type { NextConfig } from 'next'

export default {
  // Node loads it, and what it needs: the store has a database, and Temporal's client gRPC.
  serverExternalPackages: ['everthread'],
  // Not the folder above, which has a lock file too.
  turbopack: { root: import.meta.dirname },
  // `tsc` checks them.
  typescript: { ignoreBuildErrors: true },
  experimental: { turbopackFileSystemCacheForBuild: false },
} satisfies NextConfig
