# Run by cpack on the files of the package before it is made: what Debian's policy wants where.
file(GLOB_RECURSE libraries ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/bin/verdigris)
list(GET libraries 0 command)
get_filename_component(usr ${command}/../.. ABSOLUTE)
set(doc ${usr}/share/doc/verdigris)
set(from ${CPACK_VERDIGRIS_SOURCE}/packaging/debian)
file(COPY ${from}/copyright DESTINATION ${doc})
file(REMOVE ${doc}/LICENSE)  # copyright names the system's copy
file(READ ${from}/changelog.in changelog)
string(REPLACE "@VERSION@" ${CPACK_PACKAGE_VERSION} changelog "${changelog}")
file(WRITE ${doc}/changelog "${changelog}")
file(GLOB pages ${usr}/share/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
# What `update-alternatives --set verdigris-system` chooses between.
file(COPY ${from}/system-on.conf ${from}/system-off.conf DESTINATION ${usr}/share/verdigris)
if(EXISTS ${usr}/share/zsh/site-functions)
  file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
endif()
