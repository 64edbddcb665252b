/** Files that a program writes. Their diffs are folded until someone asks for them. */
const lock =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|pipfile\.lock|gemfile\.lock|composer\.lock|go\.sum|flake\.lock|mix\.lock|pubspec\.lock|packages\.lock\.json)$/i
const generated =
  /(\.(gen|generated|g|pb)\.[a-z]+|_pb2(_grpc)?\.py|\.pb\.go|\.min\.(js|css)|\.(js|css)\.map|\.snap)$|(^|\/)(__generated__|generated)\//i

export function foldedBecause(path: string): 'Lock file' | 'Generated file' | null {
  return lock.test(path) ? 'Lock file' : generated.test(path) ? 'Generated file' : null
}
