/** The icon of each kind of entry in a folder, with its name for screen readers. */
import { File as FileIcon, FileSymlink, FolderClosed, FolderGit2 } from 'lucide-react'

export const fileIcons = {
  directory: [FolderClosed, 'Folder'],
  submodule: [FolderGit2, 'Submodule'],
  symlink: [FileSymlink, 'Symbolic link'],
  file: [FileIcon, 'File'],
  executable: [FileIcon, 'Executable file'],
} as const
