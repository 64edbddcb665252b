/** Files that a program writes. The page folds their diffs, and they are read last. */
const lock =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|pipfile\.lock|gemfile\.lock|composer\.lock|go\.sum|flake\.lock|mix\.lock|pubspec\.lock|packages\.lock\.json)$/i
const generated =
  /(\.(gen|generated|g|pb)\.[a-z]+|_pb2(_grpc)?\.py|\.pb\.go|\.min\.(js|css)|\.(js|css)\.map|\.snap)$|(^|\/)(__generated__|generated)\//i

export function writtenByProgram(path: string): 'Lock file' | 'Generated file' | null {
  return lock.test(path) ? 'Lock file' : generated.test(path) ? 'Generated file' : null
}
