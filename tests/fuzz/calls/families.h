// The families of calls: each makes one of its operations at random, and gives back what they made.
#pragma once

namespace calls {

void callMemory();
void releaseMemory();

void callManagedMemory();

void callCopies();

void callArrays();
void releaseArrays();

void callTextures();
void callTextureReferences();
void releaseTextures();
void releaseTextureReferences();

void callVirtualMemory();
void releaseVirtualMemory();

void callPools();
void releasePools();

void callStreams();
void callCaptures();
void releaseStreams();

void callContexts();
void releaseContexts();

void callModules();
void callLinks();
void releaseModules();

void callLibraries();
void releaseLibraries();

void callFunctions();
void callLaunches();

void callTensorMaps();

void callGraphs();
void callGraphNodes();
void callExecutables();
void releaseGraphs();

void callDevices();
void releaseDevices();

}  // namespace calls
